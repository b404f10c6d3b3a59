"""Verdicts over simulated universes are no more often false than they should be."""

import math
import re
from dataclasses import replace

import pytest
from conftest import REPOSITORY

from verdicts.statistics.error_rates import LIMIT, SIZES, TRUTHS, multiverse_rates

ALPHA = 0.05
SIMULATIONS = 60


def truth_of(start):
    return next(truth for truth in TRUTHS if truth.name.startswith(start))


def limit(simulations):
    """The largest share that is simulated where the true one is 5 %: four standard errors."""
    return ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / simulations)


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


def test_noise_at_the_margin_is_not_told_from_an_effect():
    """The page says so: half of the universes at the margin are measured beyond it."""
    assert multiverse_rates(30, [truth_of(LIMIT)], [(200, 1)])["false_robust"].item() > 0.2


def test_the_rates_in_the_documentation():
    """Each rate on the page is at most 5 %, but for the last row, which the text explains."""
    page = (REPOSITORY / "docs/verdicts.md").read_text(encoding="utf-8")
    text = page.partition("## How often verdicts over universes are false")[2]
    simulations = int(re.search(r"From ([\d,]+) simulated", text)[1].replace(",", ""))
    assert simulations >= 1000
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert [row[0] for row in rows] == [
        truth.name for truth in TRUTHS for _ in truth.noises
    ]  # fmt: skip
    shares = {}
    for row in rows:
        cells = [float(share) for share in row[heads.index("false")].split(" / ")]
        assert len(cells) == len(SIZES)
        shares[row[0], row[1]] = max(cells)
    assert shares.pop((LIMIT, "normal")) > 20
    assert max(shares.values()) <= 100 * limit(simulations) + 0.05  # as rounded
