"""Figure S6: a noisy sine."""

import numpy as np
import pytest
from figure_files import drawn
from made_up import line, sine_fits, sines

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig_s6_draws_the_fits_over_the_sine():
    figure, shown = drawn("figS6", sines(), sine_fits())
    x = np.linspace(-3, 3, 5)
    for axis in figure.axes[:3]:
        np.testing.assert_allclose(line(axis, r"$\sin x$")[1], np.sin(x))
    assert [axis.get_title() for axis in figure.axes[:3]] == [
        "(a) centralized", "(b) gossip", "(c) NGO"
    ]  # fmt: skip
    assert set(shown["kind"].dropna()) == {"prediction", "target"}
