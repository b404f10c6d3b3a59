"""The log ratio of V of two ways to mix, on made-up rounds."""

import numpy as np
import pytest
from made_up_rounds import by_gamma, made

from ngo.analysis.quantities.settled import settled_ratio


def test_the_quantity_is_the_log_ratio_by_seed():
    found = settled_ratio(made(by_gamma), of="capped")
    assert list(found.index) == [4, 5, 6, 7]
    assert np.allclose(found, np.log(0.5))
    assert np.allclose(settled_ratio(made(by_gamma), of="NGO", minus="capped"), np.log(8))


@pytest.mark.parametrize("lost", [np.inf, np.nan])
def test_divergence_decides_against_the_side_that_diverged(lost):
    def V(coupling, p, gamma, seed):
        return lost if p == 0.75 and coupling == "power" else 1.0

    assert (settled_ratio(made(V), of="NGO") == np.inf).all()
    assert (settled_ratio(made(V), of="linear", minus="NGO") == -np.inf).all()
    assert settled_ratio(made(lambda *_: lost), of="NGO").isna().all()  # both: no comparison
