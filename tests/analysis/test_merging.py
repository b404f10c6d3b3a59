"""What merging would gain, from made-up runs."""

import numpy as np
from made_up_prices import CASES, prices

from ngo.analysis.merging import merge_curves, merge_ends, merges


def runs():
    """The workers are 5 points below their mean, and V is the step."""
    rows = prices()
    return rows.assign(
        workers_accuracy_mean=rows["consensus_accuracy"] - 0.05, V=rows["step"].astype(float)
    )


def test_the_gain_is_that_of_the_mean_model():
    found = merges(runs())
    assert np.allclose(found["gain"], 5)
    assert set(found["case"]) == set(CASES) - {"centralized"}
    assert set(found["gamma"]) == {0.4}


def test_ends_and_curves_have_a_row_for_each_case():
    found = merges(runs())
    ends = merge_ends(found)
    assert len(ends) == 2 * (len(CASES) - 1)
    assert np.allclose(ends.loc[ends["value"] == "V", "mean"], 100)
    curves = merge_curves(found)
    assert np.allclose(curves.loc[curves["value"] == "gain", "mean"], 5)
