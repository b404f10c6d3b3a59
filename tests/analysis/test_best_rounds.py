"""Each coupling at its own best p and γ, on made-up rounds."""

import numpy as np
import pytest
from made_up_rounds import by_gamma, made

from ngo.analysis import rounds
from ngo.analysis.quantities.rounds import settled_ratio
from ngo.common.registry import UserError


def test_each_mixer_has_the_gamma_with_the_lowest_V():
    found = rounds.best_cases(rounds.with_mixers(made(by_gamma))).set_index("mixer")
    assert len(found) == 6
    assert found.loc["linear", "gamma"].tolist() == [1, 1]
    assert found.loc["NGO", ["gamma", "p"]].to_numpy().tolist() == [[0.5, 0.75]] * 2
    assert found.loc["capped", "gamma"].tolist() == [1, 1]


def test_values_are_of_the_seeds_that_did_not_choose():
    """With seeds 4 to 7 ten times better at γ = 0.5, the choice of seeds 0 to 3 stays."""

    def V(coupling, p, gamma, seed):
        return by_gamma(coupling, p, gamma, seed) / (10 if gamma == 0.5 and seed > 3 else 1)

    chosen = rounds.at_best(rounds.with_mixers(made(V)))
    assert set(chosen["seed"]) == {4, 5, 6, 7}
    assert set(chosen.loc[chosen["mixer"] == "linear", "gamma"]) == {1.0}


def test_a_case_that_diverges_comes_last():
    def V(coupling, p, gamma, seed):
        return np.nan if coupling == "capped" and gamma == 1 and seed == 2 else 1.0

    found = rounds.best_cases(rounds.with_mixers(made(V))).set_index("mixer")
    assert set(found.loc["capped", "gamma"]) == {0.5}


def test_rounding_error_has_a_floor():
    table = rounds.with_mixers(made(lambda *_: 0.0))
    assert (rounds.ends(table)["V_settled"] == 100 * rounds.LEAST).all()


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
    assert (settled_ratio(made(lambda *_: lost), of="NGO") == 0).all()


def test_a_mixer_that_is_not_there_is_named():
    with pytest.raises(UserError, match="no rows of mixer 'implicit'"):
        settled_ratio(made(by_gamma), of="implicit")
