"""The config of the calibration: it resolves, and each candidate has the cells it is judged by."""

from functools import cache
from itertools import product

import pytest
from configs import plan_of
from conftest import REPOSITORY

from ngo.analysis.calibration import CALIBRATED, CONFIRMED, TRAINING
from ngo.pipeline.config_files import read_config

SETS = ("mnist", "cifar10")


@cache
def planned():
    return plan_of(read_config(REPOSITORY / f"config/{n}.yaml" for n in ("config", "calibration")))


def trials(*names):
    """The runs of these experiments, by half, topology, method, training, γ, p and seed."""
    found = {}
    for name in names:
        for run in planned().training[f"calibration_{name}"]:
            half = "iid" if run.partition == "iid" else "noniid"
            gamma = None if run.method == "centralized" else run.gamma
            p = run.p if run.method == "ngo" else None
            training = tuple(getattr(run, field) for field in TRAINING)
            key = (half, run.topology, run.method, training, gamma, p, run.seed)
            assert found.setdefault(key, run) == run
    return found


def cell(half, topology, method, training, gamma, p, seed):
    """The key of the run that a candidate needs for a cell."""
    gamma = None if method == "centralized" else gamma
    return (half, topology, method, training, gamma, p if method == "ngo" else None, seed)


@pytest.mark.parametrize("dataset", SETS)
def test_every_candidate_has_all_cells_of_both_halves(dataset):
    runs = trials(dataset)
    seeds = {half: {key[-1] for key in runs if key[0] == half} for half in ("iid", "noniid")}
    candidates = {key[3:6] for key in runs if key[2] == "ngo"}
    assert len(candidates) > 5
    for candidate, half, where in product(candidates, seeds, CALIBRATED):
        for seed in seeds[half]:
            assert cell(half, *where, *candidate, seed) in runs


@pytest.mark.parametrize("dataset", SETS)
def test_what_confirms_is_complete_and_of_candidates(dataset):
    runs, kept = trials(dataset), trials(f"{dataset}_confirm")
    candidates = {key[3:6] for key in runs if key[2] == "ngo"}
    confirmed = {key[3:6] for key in kept if key[2] == "ngo"}
    assert confirmed
    assert confirmed <= candidates
    for candidate in confirmed:
        for half, _, _, _, _, _, seed in {key for key in runs if key[3:6] == candidate}:
            for where in CONFIRMED:
                assert cell(half, *where, *candidate, seed) in kept
    gossip = {key[3:5] for key in kept if key[2] == "gossip"}
    assert gossip == {(training, gamma) for training, gamma, _ in confirmed}
    assert {key[1] for key in kept} == {"random", "complete"}
