"""The sampled setting that is nearest to the paper's Table 1."""

import numpy as np
import pandas as pd
import pytest
from conftest import REPOSITORY
from figure_files import executed

from ngo.analysis.universes import Universe, in_universes

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
    found = nearest([9.0, -1.0, 4.0])
    for row in found["numbers"]["nearest_setting"].to_dict("records"):
        assert (row["universe"], row["universes"]) == (1, 3)
        assert row["distance_chosen"] == pytest.approx(1)
        assert row["distance_confirmed"] == row["least_confirmed"] == pytest.approx(1)
        assert row["median_confirmed"] == pytest.approx(4)
        assert (row["cells_met"], row["most_cells_met"]) == (7, 7)
        assert row["values"] == "lr 0.1, accuracy of mean"
    assert len(found["numbers"]["nearest_setting"]) == 2


def test_a_choice_by_chance_is_not_confirmed():
    """One half is met exactly, the other is ten points off."""
    cells = {cell: value + 10 * (cell == ("ring", "ngo")) for cell, value in PRINTED.items()}
    found = nearest([0.0, 30.0], cells)
    first, second = found["numbers"]["nearest_setting"].to_dict("records")
    assert first["distance_chosen"] == pytest.approx(0, abs=1e-9)
    assert first["distance_confirmed"] == pytest.approx(10 / np.sqrt(3))
    assert second["distance_confirmed"] == pytest.approx(0, abs=1e-9)


def test_cells_that_no_universe_meets_are_named():
    found = nearest([3.0, 5.0])
    cells = found["numbers"]["nearest_setting_cells"].set_index("cell")
    assert (cells["met_by"].drop("random − ring gossip") == 0).all()
    difference = cells.loc["random − ring gossip"]
    assert difference["printed"] == pytest.approx(17.62)
    assert difference["met_by"] == 2  # both are above it by the same
    assert cells.loc["ring gossip", ["least", "most"]].tolist() == pytest.approx([35.49, 37.49])
    assert "ring gossip (cifar10, shards)" in found["caption"]["nearest_setting_cells"]
    printed = found["printed"]["nearest_setting_cells"].set_index("Cell")
    assert printed.loc["ring gossip", "Met by"] == "none of 2"


def test_a_diverged_run_has_chance_level():
    found = nearest([0.0], diverged=[(0, "gossip")])["numbers"]
    cells = found["nearest_setting_cells"].set_index("cell")
    assert cells.loc["ring gossip", "most"] == 10
    assert cells.loc["ring ngo", "most"] == pytest.approx(34.14)


def test_samples_without_all_cells_are_left_out():
    ring = {cell: value for cell, value in PRINTED.items() if cell[0] in (None, "ring")}
    found = nearest([0.0], ring)
    assert all(part.empty for part in found["numbers"].values())
    assert all(part.empty for part in found["printed"].values())
    assert set(found["caption"].values()) == {
        "No sample of universes has all seven cells of Table 1."
    }
