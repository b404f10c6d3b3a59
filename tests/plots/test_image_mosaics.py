"""Mosaics of images."""

import pytest
from made_up import pictures

from ngo.plots.image_mosaics import images, pixel_rows

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
