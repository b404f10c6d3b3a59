"""Figure A1: generations on each worker."""

import pytest
from figure_files import drawn, opened
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


def test_the_caption_has_the_variance_between_workers_at_each_step():
    said = opened("figA1").module.variances(pictures(2, (1, 4, 5)))
    assert said.endswith(": 0.05 after 2 steps, 0.0005 after 200 steps.")
