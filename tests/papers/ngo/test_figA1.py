"""Figure A1: generations on each worker."""

import pandas as pd
import pytest
from figure_files import drawn, made, opened
from made_up import pictures

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig_a1_shows_each_step_with_a_column_for_each_worker():
    table = pictures(2, (1, 4, 5))
    figure, _ = drawn("figA1", table)
    early, late = figure.axes
    assert early.get_title() == "after 2 steps, diverged"
    assert late.get_title() == "after 200 steps"
    own = table[(table["step"] == 200) & (table["kind"] == "generation") & (table["worker"] == 1)]
    third = own[own["image"] == 2].sort_values(["row", "column"])["value"]
    assert late.images[0].get_array()[10:14, 6:11].ravel().tolist() == third.tolist()


def test_each_row_has_two_panels():
    figure, _ = drawn("figA1", pictures(2, (1, 4, 5), steps=(2, 25, 2500)))
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["after 2 steps, diverged", "after 25 steps", "after 2,500 steps", ""]


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("figA1", tmp_path, metrics=pictures(2, (1, 4, 5)))
    assert output.picture == tmp_path / "figures/figA1.png"
    shown = pd.read_csv(tmp_path / "figures/figA1.csv")
    assert set(shown["tier"]) == {"test"}
    assert set(shown["kind"]) == {"generation"}


def test_the_caption_has_the_variance_between_workers_at_each_step():
    said = opened("figA1").module.variances(pictures(2, (1, 4, 5)))
    assert said.endswith(": 0.05 after 2 steps, 0.0005 after 200 steps.")


def test_the_images_are_of_the_first_seed_and_the_variance_of_all(tmp_path):
    first, second = pictures(2, (1, 4, 5)), pictures(2, (1, 4, 5)).assign(run="b", seed=1)
    second["workers_variance"] *= 3
    both = pd.concat([first, second])
    made("figA1", tmp_path, metrics=both)
    assert set(pd.read_csv(tmp_path / "figures/figA1.csv")["seed"]) == {0}
    assert ": 0.1 after 2 steps, 0.001 after" in opened("figA1").module.variances(both)
