"""Figure S6: a noisy sine."""

import numpy as np
import pandas as pd
import pytest
from figure_files import drawn, made
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


def test_fig_s6_says_which_fit_diverged():
    figure, _ = drawn("figS6", sines(lambda seed: seed == 0), sine_fits(lost=True))
    assert [text.get_text() for text in figure.axes[2].texts] == ["diverged"]
    figure.canvas.draw()


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("figS6", tmp_path, metrics=sines(), samples=sine_fits())
    assert output.picture == tmp_path / "figures/figS6.png"
    shown = pd.read_csv(tmp_path / "figures/figS6.csv")
    assert set(shown["tier"]) == {"test"}
