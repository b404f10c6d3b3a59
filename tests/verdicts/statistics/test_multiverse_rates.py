"""Verdicts over simulated universes are no more often false than they should be."""

import math
from dataclasses import replace

import pytest

from verdicts.statistics.error_rates import TRUTHS, multiverse_rates

ALPHA = 0.05
SIMULATIONS = 60


def truth_of(start):
    return next(truth for truth in TRUTHS if truth.name.startswith(start))


def limit(simulations):
    """The largest share that is simulated where the true one is 5 %: four standard errors."""
    return ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / simulations)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["8 in 80", "8 in half", "2 where a"])
def test_false_verdicts_are_rare(start):
    rates = multiverse_rates(SIMULATIONS, [truth_of(start)], [(60, 1)])
    assert rates["false"].max() <= limit(SIMULATIONS)


@pytest.mark.parametrize(
    ("start", "verdict"),
    [("4 every", "robust"), ("−4 every", "reversed"), ("4 where a", "depends"),
     ("4 where one", "depends"), ("8 a", "depends")],
)  # fmt: skip
def test_what_is_there_is_found(start, verdict):
    truth = truth_of(start)
    assert truth.right == verdict
    assert multiverse_rates(20, [truth], [(60, 3)])["power"].min() > 0.85


def test_the_test_over_all_universes_keeps_its_level():
    truth = replace(truth_of("0 everywhere"), noises=("normal", "heavy tails"))
    rates = multiverse_rates(SIMULATIONS, [truth], [(60, 1)])
    assert rates["significant"].max() <= limit(SIMULATIONS)
    assert multiverse_rates(20, [truth_of("4 everywhere")], [(60, 1)])["significant"].min() == 1
