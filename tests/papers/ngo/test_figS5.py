"""Figure S5: reconstructions and generations."""

import pandas as pd
import pytest
from figure_files import drawn, made, opened
from made_up import pictures

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig_s5_shows_the_last_step_in_grey_and_colour():
    grey, colour = pictures(2, (1, 4, 5)), pictures(3, (3, 4, 5), dataset="cifar10")
    figure, _ = drawn("figS5", pd.concat([grey, colour], ignore_index=True))
    left, right, left_colour, right_colour = figure.axes
    assert left.images[0].get_array().shape == (4 * 5 - 1, 2 * 6 - 1)
    assert right.images[0].get_array().shape == (3 * 5 - 1, 2 * 6 - 1)
    assert right_colour.images[0].get_array().shape == (3 * 5 - 1, 3 * 6 - 1, 3)
    last = colour[(colour["step"] == 200) & (colour["kind"] == "reconstruction")]
    first = last[last["image"] == 0].sort_values(["row", "column", "channel"])["value"]
    shown = left_colour.images[0].get_array()[5:9, :5]  # below its original
    assert shown.ravel().tolist() == first.tolist()


def test_the_figure_is_made_from_a_file_in_the_same_bytes_each_time(tmp_path):
    for name in ("a", "b"):
        output = made("figS5", tmp_path / name, metrics=pictures(2, (1, 4, 5)))
        assert output.picture == tmp_path / name / "figures/figS5.png"
    for kind in ("csv", "pdf", "png"):
        first, second = (tmp_path / name / f"figures/figS5.{kind}" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()
    shown = pd.read_csv(tmp_path / "a/figures/figS5.csv")
    assert set(shown["tier"]) == {"test"}


def test_the_note_says_on_what_and_for_how_long_the_models_have_trained():
    said = opened("figS5").module.lengths(pictures(2, (1, 4, 5)))
    assert said.endswith("no length of training; here: digits for 12 epochs.")


def test_the_caption_has_the_loss_at_the_end_beside_that_of_class_means():
    tables = pictures(2, (1, 4, 5)), pictures(3, (3, 4, 5), dataset="cifar10")
    said = opened("figS5").module.losses(pd.concat(tables))
    assert said.endswith("of its class: digits 150 and 172; cifar10 150 and 172.")
