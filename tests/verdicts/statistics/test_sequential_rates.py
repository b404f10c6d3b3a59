"""With looks, verdicts on simulated data are no more often false than they should be."""

import math

import pytest

from verdicts.statistics.error_rates import PLAN, SEQUENTIAL, sequential_rates

SIMULATIONS = 120
FALSE = ["false_holds", "false_fails", "false_equivalent"]


def limit(simulations: int) -> float:
    """The largest share that is simulated where the true one is 5 %: four standard errors."""
    return 0.05 + 4 * math.sqrt(0.05 * 0.95 / simulations)


def of(start: str):
    found = [each for each in SEQUENTIAL if each.name.startswith(start)]
    assert found
    return found


@pytest.mark.parametrize(
    "start", ["above 0: the mean is 0.5", "above 0: the mean is 1", "near 0: the mean is 1",
              "paper: its value is 1 off"],
)  # fmt: skip
def test_false_verdicts_are_rare_at_the_end_of_all_looks(start):
    rates = sequential_rates(SIMULATIONS, of(start), ["heavy tails"])
    assert rates["seeds"].tolist() == list(PLAN)
    assert rates[FALSE].to_numpy().max() <= limit(SIMULATIONS)
    assert rates["false"].is_monotonic_increasing
    assert (rates["used"] <= rates["seeds"]).all()


def test_false_verdicts_in_a_family_at_different_looks_are_rare():
    rates = sequential_rates(60, of("6 claims above 0: 3 means are 0, 3 are 1"), ["normal"])
    assert rates[FALSE].to_numpy().max() <= limit(60)
    assert rates["power"].is_monotonic_increasing
    assert rates["power"].iloc[-1] > 0.99
    # What is decided early takes no more seeds.
    assert 40 < rates["used"].iloc[-1] < 60
