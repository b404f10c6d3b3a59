"""Mosaics of images."""

import pytest
from made_up import pictures

from ngo.plots.image_mosaics import images, pixel_rows

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_images_have_their_channels_last():
    table = pictures(2, (3, 4, 5), steps=(3,))
    actual = images(pixel_rows(table), "generation", 1)
    assert actual.shape == (3, 4, 5, 3)
    where = (table["kind"] == "generation") & (table["worker"] == 1) & (table["image"] == 2)
    pixel = table[where & (table["row"] == 3) & (table["column"] == 1) & (table["channel"] == 2)]
    assert actual[2, 3, 1, 2] == pixel["value"].item()
