"""The figure and table of merging once, from made-up runs."""

import numpy as np
import pytest
from figure_files import made, opened
from made_up_prices import CASES, prices

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def runs():
    """The workers are 5 points below their mean, and V is the step."""
    rows = prices()
    return rows.assign(
        workers_accuracy_mean=rows["consensus_accuracy"] - 0.05, V=rows["step"].astype(float)
    )


def test_the_figure_and_the_table_are_saved(tmp_path):
    output = made("beyond/merge", tmp_path, metrics=runs())
    assert output.picture.stat().st_size > 10_000
    (printed,) = output.tables
    assert printed["Gain of merging"].str.startswith("+5.00").all()
    assert len(printed) == 4


def test_the_gain_is_that_of_the_mean_model():
    found = opened("beyond/merge").module.merges(runs())
    assert np.allclose(found["gain"], 5)
    assert set(found["case"]) == set(CASES) - {"centralized"}
    assert set(found["gamma"]) == {0.4}
