"""Figure S5: reconstructions and generations."""

import pandas as pd
import pytest
from figure_files import drawn, opened
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


def test_the_caption_has_the_loss_at_the_end_beside_that_of_class_means():
    tables = pictures(2, (1, 4, 5)), pictures(3, (3, 4, 5), dataset="cifar10")
    said = opened("figS5").module.losses(pd.concat(tables))
    assert said.endswith("of its class: digits 150 and 172; cifar10 150 and 172.")
