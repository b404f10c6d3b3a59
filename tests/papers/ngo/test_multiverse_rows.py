"""What the figures of universes show: curves of effects."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from cases import cases
from conftest import REPOSITORY
from figure_files import executed
from shipped_plans import changed, plan_of

from ngo.analysis.universes import Universe, in_universes
from ngo.training.spec import RunSpec
from verdicts.statistics import meets

pytestmark = pytest.mark.filterwarnings("error")

CLAIMS = REPOSITORY / "config/reference/claims.yaml"


def table(
    specs: Sequence[RunSpec],
    universes: Sequence[Universe],
    accuracy: Callable[[RunSpec], float],
    V: Callable[[RunSpec], float] = lambda spec: 1.0,
) -> pd.DataFrame:
    """Two evaluations of each run: at the start, and at the end with these values."""
    rows = []
    for spec in specs:
        end = accuracy(spec)
        facts = {"run": spec.id, **spec.values()}
        for step, share, now in ((0, 0.1, 0.0), (10, end, V(spec))):
            scores = {"consensus_accuracy": share, "workers_accuracy_mean": share - 0.01}
            scores |= {"holdout_accuracy": share, "V": now}
            rows.append({**facts, "step": step, **scores, "diverged": not np.isfinite(end)})
    return in_universes(pd.DataFrame(rows), universes)


def accuracy(spec):
    """NGO is two points ahead where γ is small, and behind elsewhere; a large γ and p diverge."""
    if spec.method == "centralized":
        return 0.2 if spec.lr > 0.25 else 0.9
    lead = 0.02 if spec.gamma < 0.3 else -0.04
    return 0.8 + (lead if spec.method == "ngo" else 0) + 0.001 * spec.p


@pytest.fixture(scope="module")
def drawn():
    """What the notebook made of the demo's universes."""
    planned = plan_of(changed("universes.digits.count", 60))
    name = "universes_digits"
    tables = {
        name: table(
            planned.training[name], planned.universes[name], accuracy, lambda spec: spec.gamma or 0
        )
    }
    return executed("multiverse", tables, claims=CLAIMS)


def test_effects_are_sorted_with_the_values_that_decide(drawn):
    curve = drawn["numbers"]["multiverse"]
    (own,) = (each for claim, each in curve.groupby("claim") if claim == "u-accuracy-digits")
    assert own["effect"].is_monotonic_increasing
    assert np.allclose(np.abs(own["effect"] - np.sign(own["effect"]) * 3 + 1), 0, atol=0.2)
    assert set(own["first"]) == {"gamma"}
    assert ((own["side"] == 1) == (own["first_value"].astype(float) < 0.3)).all()
    assert (own["rule_says"] == (own["side"] == 1)).mean() > 0.9


@cases(
    "rule, met",
    ("0.1 < γ ≤ 0.3", [0, 1, 0]),
    ("γ > 0.1 and lr schedule is not cosine", [0, 0, 1]),
    ("γ ≤ 0.1, or lr schedule is constant", [1, 0, 1]),
    ("chatter floor ≤ −2", [0, 1, 1]),
    ("", [0, 0, 0]),
)
def test_a_rule_is_read_from_its_text(rule, met):
    settings = {"gamma": [0.1, 0.3, 0.5], "lr_schedule": ["cosine", "cosine", "constant"]}
    found = meets(rule, pd.DataFrame({**settings, "chatter_floor": [-1.0, -2.0, -3.0]}))
    assert found.tolist() == met


def test_the_table_tells_what_decides(drawn):
    rows = drawn["numbers"]["multiverse_verdicts"].set_index("claim")
    row = rows.loc["u-accuracy-digits"]
    assert (row["verdict"], row["sampled"]) == ("depends", 60)
    assert 20 < row["universes"] < 60  # those whose centralized run trains
    assert row["rule"].startswith("γ ≤ 0.")
    printed = drawn["printed"]["multiverse_verdicts"].set_index("claim")
    assert printed.loc["u-accuracy-digits", "what decides"].startswith("holds where γ ≤ 0.")
    assert f"{row['universes']} of 60" == printed.loc["u-accuracy-digits", "universes"]
    assert printed.map(lambda cell: isinstance(cell, str)).all(axis=None)  # files have only text
    assert rows.loc["u-synchronization-digits", "verdict"] == "no effect"  # V is the same


def test_without_universes_there_is_nothing_to_draw(house_style):
    assert executed("multiverse", {}, claims=CLAIMS)["printed"]["multiverse_verdicts"].empty
