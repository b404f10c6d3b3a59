"""Each coupling at its own best p and γ, on made-up rounds."""

import numpy as np
from made_up_rounds import by_gamma, made

from ngo.analysis import mixers


def test_each_mixer_has_the_gamma_with_the_lowest_V():
    found = mixers.best_cases(mixers.with_mixers(made(by_gamma))).set_index("mixer")
    assert len(found) == 6
    assert found.loc["linear", "gamma"].tolist() == [1, 1]
    assert found.loc["NGO", ["gamma", "p"]].to_numpy().tolist() == [[0.5, 0.75]] * 2
    assert found.loc["capped", "gamma"].tolist() == [1, 1]


def test_values_are_of_the_seeds_that_did_not_choose():
    """With seeds 4 to 7 ten times better at γ = 0.5, the choice of seeds 0 to 3 stays."""

    def V(coupling, p, gamma, seed):
        return by_gamma(coupling, p, gamma, seed) / (10 if gamma == 0.5 and seed > 3 else 1)

    chosen = mixers.best_rows(mixers.with_mixers(made(V)))
    assert set(chosen["seed"]) == {4, 5, 6, 7}
    assert set(chosen.loc[chosen["mixer"] == "linear", "gamma"]) == {1.0}


def test_a_case_that_diverges_comes_last():
    def V(coupling, p, gamma, seed):
        return np.nan if coupling == "capped" and gamma == 1 and seed == 2 else 1.0

    found = mixers.best_cases(mixers.with_mixers(made(V))).set_index("mixer")
    assert set(found.loc["capped", "gamma"]) == {0.5}


def test_rounding_error_has_a_floor():
    table = mixers.with_mixers(made(lambda *_: 0.0))
    assert (mixers.ends(table)["V_settled"] == 100 * mixers.LEAST).all()
