"""What the figures of universes show: curves of effects, and the setting nearest to Table 1."""

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


TABLE1 = REPOSITORY / "config/reference/table1_classification.csv"
PRINTED = {
    (None, "centralized"): 70.40, ("ring", "gossip"): 32.49, ("ring", "ngo"): 34.14,
    ("random", "gossip"): 50.11, ("random", "ngo"): 51.10, ("complete", "gossip"): 52.56,
    ("complete", "ngo"): 53.35,
}  # fmt: skip


def sample(offsets, cells=PRINTED, diverged=()):
    """A table of universes; in universe k each cell is ``offsets[k]`` points above the printed."""
    rows, universes = [], []
    for k, offset in enumerate(offsets):
        runs = []
        for (topology, method), printed in cells.items():
            run = f"{topology}-{method}-{k}"
            runs.append(run)
            facts = {"run": run, "dataset": "cifar10", "partition": "shards", "seed": k}
            facts |= {"topology": topology, "method": method, "diverged": (k, method) in diverged}
            for step, value in ((0, 0.1), (10, (printed + offset) / 100)):
                accuracy = {"consensus_accuracy": value, "workers_accuracy_mean": value}
                rows.append({**facts, **accuracy, "step": step})
        universes.append(Universe(k, {"lr": 0.1 * k, "accuracy_of": "mean"}, tuple(runs)))
    return in_universes(pd.DataFrame(rows), universes)


def nearest(*given, **cells):
    """What the notebook makes of a sample of universes."""
    return executed("nearest_setting", {"universes_own": sample(*given, **cells)}, reference=TABLE1)


def test_the_nearest_is_chosen_by_half_of_the_cells_and_confirmed_by_the_others():
    drawn = nearest([9.0, -1.0, 4.0])
    for row in drawn["numbers"]["nearest_setting"].to_dict("records"):
        assert (row["universe"], row["universes"]) == (1, 3)
        assert row["distance_chosen"] == pytest.approx(1)
        assert row["distance_confirmed"] == row["least_confirmed"] == pytest.approx(1)
        assert row["median_confirmed"] == pytest.approx(4)
        assert (row["cells_met"], row["most_cells_met"]) == (7, 7)
        assert row["values"] == "lr 0.1, accuracy of mean"
    assert len(drawn["numbers"]["nearest_setting"]) == 2


def test_a_choice_by_chance_is_not_confirmed():
    """One half is met exactly, the other is ten points off."""
    cells = {cell: value + 10 * (cell == ("ring", "ngo")) for cell, value in PRINTED.items()}
    first, second = nearest([0.0, 30.0], cells)["numbers"]["nearest_setting"].to_dict("records")
    assert first["distance_chosen"] == pytest.approx(0, abs=1e-9)
    assert first["distance_confirmed"] == pytest.approx(10 / np.sqrt(3))
    assert second["distance_confirmed"] == pytest.approx(0, abs=1e-9)


def test_cells_that_no_universe_meets_are_named():
    drawn = nearest([3.0, 5.0])
    cells = drawn["numbers"]["nearest_setting_cells"].set_index("cell")
    assert (cells["met_by"].drop("random − ring gossip") == 0).all()
    difference = cells.loc["random − ring gossip"]
    assert difference["printed"] == pytest.approx(17.62)
    assert difference["met_by"] == 2  # both are above it by the same
    assert cells.loc["ring gossip", ["least", "most"]].tolist() == pytest.approx([35.49, 37.49])
    assert "ring gossip (cifar10, shards)" in drawn["caption"]["nearest_setting_cells"]
    printed = drawn["printed"]["nearest_setting_cells"].set_index("Cell")
    assert printed.loc["ring gossip", "Met by"] == "none of 2"
