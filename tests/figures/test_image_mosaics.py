"""Mosaics of images."""

import numpy as np
import pytest
from made_up import pictures

from ngo.figures import plots
from ngo.figures.image_mosaics import draw_generations, draw_mosaic, images, pixel_rows

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_pixels_are_written_a_row_of_an_image_at_a_time():
    table = pictures(1, (1, 4, 5), steps=(3,))
    rows = pixel_rows(table)
    assert len(rows) == 4 * 3 * 4  # kinds and models, images, rows
    last = table[(table["kind"] == "original") & (table["image"] == 2) & (table["row"] == 3)]
    chosen = rows[(rows["kind"] == "original") & (rows["image"] == 2) & (rows["row"] == 3)]
    assert chosen[[f"x{k}" for k in range(5)]].iloc[0].tolist() == last["value"].tolist()


def test_images_have_their_channels_last():
    table = pictures(2, (3, 4, 5), steps=(3,))
    found = images(pixel_rows(table), "generation", 1)
    assert found.shape == (3, 4, 5, 3)
    where = (table["kind"] == "generation") & (table["worker"] == 1) & (table["image"] == 2)
    pixel = table[where & (table["row"] == 3) & (table["column"] == 1) & (table["channel"] == 2)]
    assert found[2, 3, 1, 2] == pixel["value"].item()


def test_a_mosaic_has_white_lines_between_its_images():
    axis = plots.new_figure(2).subplots()
    draw_mosaic(axis, [np.zeros((2, 4, 5, 1), np.uint8), np.zeros((1, 4, 5, 1), np.uint8)])
    canvas = axis.images[0].get_array()
    assert canvas.shape == (2 * 5 - 1, 2 * 6 - 1)
    assert (canvas[4] == 255).all()
    assert (canvas[:4, 5] == 255).all()
    assert (canvas[:4, :5] == 0).all()


def test_generations_have_a_column_for_each_worker():
    axis = plots.new_figure(2).subplots()
    draw_generations(axis, pixel_rows(pictures(3, (3, 4, 5), steps=(3,))), 2)
    assert axis.images[0].get_array().shape == (2 * 5 - 1, 3 * 6 - 1, 3)
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0", "1", "2"]
