"""Verdicts on simulated data are no more often false than they should be."""

import math
import re

import pytest
from conftest import REPOSITORY

import ngo.analysis  # noqa: F401 (registers the values and quantities of runs)
from verdicts.statistics.error_rates import SEEDS, SITUATIONS, error_rates

SIMULATIONS = 1000
ALPHA = 0.05


def limit(simulations: int) -> float:
    """The largest share that is simulated where the true one is 5 %: four standard errors."""
    return ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / simulations)


def of(start: str):
    return [each for each in SITUATIONS if each.name.startswith(start)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "start", [f"above 0: the mean is {mean}" for mean in (0, 1)]
    + ["near 0: the mean is 1", "paper: its value is 1 off"],
)  # fmt: skip
@pytest.mark.parametrize("noise", ["normal", "heavy tails"])
def test_false_verdicts_on_a_claim_are_rare(start, noise):
    rates = error_rates(SIMULATIONS, of(start), [noise])
    kinds = rates.filter(like="false_")
    assert len(kinds.columns) == 4
    small = rates["false_equivalent"] + rates["false_below_margin"]
    assert small.max() <= limit(SIMULATIONS)
    assert kinds.to_numpy().max() <= limit(SIMULATIONS)
    # The tests use what they are allowed: at an edge, some verdicts are false.
    assert kinds.to_numpy().max() > 0.01


def test_false_verdicts_in_a_family_are_rare():
    rates = error_rates(SIMULATIONS // 2, of("6 claims"), ["normal"], [5])
    assert rates["false"].max() <= limit(SIMULATIONS // 2)
    assert rates["false"].min() > 0.01


def test_more_seeds_find_more():
    rates = error_rates(300, of("above 0: the mean is 2"), ["normal"])
    assert rates["power"].is_monotonic_increasing
    assert rates["power"].iloc[-1] > 0.99


def test_what_is_below_the_margin_is_said_of_real_effects_below_it():
    rates = error_rates(200, of("above 0: the mean is"), ["normal"], [20])
    said = rates.set_index("situation")["both"].dropna()
    assert list(said.index) == ["above 0: the mean is 0.5"]
    assert said.iloc[0] > 0.1


def test_the_rates_in_the_documentation():
    """Where the noise is symmetric, each rate on the page is at most 5 %."""
    page = (REPOSITORY / "docs/verdicts.md").read_text(encoding="utf-8")
    simulations = int(re.search(r"From ([\d,]+) simulated", page)[1].replace(",", ""))
    rates = []
    for name in (each.name for each in SITUATIONS):
        lines = page.partition(f"**{name}**\n\n")[2].partition("\n\n")[0].splitlines()
        heads, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
        assert {row[0] for row in rows} == {"normal", "heavy tails", "paired", "skewed"}
        for row in rows:
            for head, cell in zip(heads, row, strict=True):
                shares = cell.split(" / ")
                if head.startswith(("false", "any")) and row[0] != "skewed":
                    assert len(shares) == len(SEEDS)
                    rates += [float(share) / 100 for share in shares]
    assert len(rates) > 100
    assert max(rates) <= limit(simulations) + 0.0005  # as rounded
