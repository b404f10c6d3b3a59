"""Methods in three real processes: the rows of the simulated run, and the bytes that are counted.

The processes start once and take the steps of all runs, one run after another.
"""

from collections import Counter
from functools import partial

import pytest
import torch
from cases import cases
from test_process_run import LIMIT, convex_spec, ended_within, surroundings  # noqa: F401

from ngo.common.registries import COMPRESSIONS, METHODS
from ngo.data import loading
from ngo.distributed.process_network import ProcessNetwork
from ngo.distributed.process_run import launch
from ngo.distributed.rendezvous import Group, open_rendezvous
from ngo.gossip.method import sent
from ngo.native.threads import in_order
from ngo.training.learning_problem import make_problem
from ngo.training.stepper import Stepper

PROCESSES, STEPS, D, TIMEOUT = 3, 6, 10, 30.0

LATER = {"second_topology": "complete", "third_phase": 0.6, "third_gamma": 0.1}
RUNS = {
    **{
        name: {}
        for name, entry in METHODS.items()
        if entry.decentralized and entry.sends and entry.arrivals != "pair"
    },
    "diloco": {"local_steps": 2, "local_rule": "adamw"},
    "gasloc": {"local_steps": 2, "local_rule": "momentum"},
    "noloco": {"local_steps": 2, "topology": "random_matching"},
    "outer": {"local_steps": 2, "local_rule": "adamw"},
    "push_sum": {"topology": "one_peer_exponential"},
    "epidemic-out": {"topology": "epidemic_out", "receivers": 2},
    "clique_averaging-joined": {"topology": "d_cliques", "clique_size": 2, "clique": 2},
    "relay_sum": {"topology": "chain"},
    **{f"choco-{name}": {"compression": name} for name in COMPRESSIONS},
    "choco-capped": {"compression": "top_k", "coupling": "capped", "topology": "chain"},
    "ngo-combine": {"order": "combine_then_adapt", "local_rule": "momentum"},
    "gossip-phases": {"schedule": "phases", "second_phase": 0.3, **LATER},
    "ngo-by_worker": {"initialization": "by_worker"},
    "ngo-flip": {"attack": "sign_flip", "coupling": "power"},
    "ngo-noise": {"attack": "noise", "coupling": "clipped"},
    "ngo-alie": {"attack": "alie", "coupling": "median"},
    "ngo-dissensus": {"attack": "dissensus", "coupling": "clipped_adaptive"},
    "ngo-alie-trimmed": {"attack": "alie", "coupling": "trimmed_mean", "topology": "complete"},
    "admm-lies": {"attack": "alie"},
}


# Those that are also taken with several workers in a process.
SHARED = ("ngo-combine", "choco-top_k", "push_sum", "relay_sum", "diloco", "gasloc", "admm-lies")


def specs(workers):
    """The run of each name: with ``PROCESSES`` workers, every edge is one between processes."""
    common = {"workers": workers, "gamma": 0.3, "backend": "loop"}
    return {
        name: convex_spec(
            method=name.partition("-")[0],
            **{**common, **how},
            **({"kept_share": 0.3} if how.get("compression") in ("top_k", "random_k") else {}),
        )
        for name, how in RUNS.items()
        if workers == PROCESSES or name in SHARED
    }


def taken(stepper):
    """The workers' rows after all steps, and what was counted."""
    for _ in range(STEPS):
        stepper.advance()
    network = stepper.network
    return stepper.population.X, network.messages, network.bytes_sent


def part(runs, folder):
    """What one process does: its workers' steps of each run; the results go to a file."""
    rendezvous = open_rendezvous(TIMEOUT)
    data = loading.load("least_squares", folder)
    group = Group(rendezvous, TIMEOUT)
    results = []
    for spec in runs:
        network, before = ProcessNetwork(group, spec.workers, in_order), Counter(group.sent)
        problem = make_problem(spec, data).restricted_to(network.local)
        stepper = Stepper(spec, problem, steps=STEPS, threads=1, workers=network.local)
        stepper.connect(network)
        found = taken(stepper)
        crossed = [group.sent[each] - before[each] for each in ("models_sent", "bytes_sent")]
        results.append((*found, *crossed))
    torch.save(results, folder / f"{rendezvous.me}.pt")


@pytest.fixture(scope="module")
def in_processes(tmp_path_factory, surroundings):  # noqa: F811
    """By number of workers and name: the rows, and the sums of what the processes counted."""
    folder, numbers = tmp_path_factory.mktemp("processes"), (PROCESSES, 5)
    runs = [(workers, name, spec) for workers in numbers for name, spec in specs(workers).items()]
    with ended_within(LIMIT):
        launch(partial(part, [spec for *_, spec in runs], folder), PROCESSES)
    files = [torch.load(folder / f"{me}.pt") for me in range(PROCESSES)]
    return {
        (workers, name): (torch.cat(rows), *map(sum, counts))
        for (workers, name, _), results in zip(runs, zip(*files, strict=True), strict=True)
        for rows, *counts in [list(zip(*results, strict=True))]
    }


@cases("name, workers", *((name, PROCESSES) for name in RUNS), *((name, 5) for name in SHARED))
def test_processes_take_the_steps_of_the_simulated_run(name, workers, in_processes, least_squares):
    spec = specs(workers)[name]
    stepper = Stepper(spec, make_problem(spec, least_squares), steps=STEPS, threads=1)
    start = stepper.population.X.clone()
    rows, messages, size = taken(stepper)
    found, counted, counted_size, models, sent_bytes = in_processes[workers, name]
    assert torch.allclose(found, rows, rtol=1e-5, atol=1e-6)
    assert (found - start).norm(dim=1).min() > 0.1
    assert (counted, counted_size) == (messages, size)
    if not METHODS[spec.method].decentralized:
        assert models == 0  # rows go through the leader
    elif workers == PROCESSES:
        assert (models, sent_bytes) == (messages, size)
    else:
        assert 0 < sent_bytes <= size
    if not name.partition("-")[0].endswith("_tracking"):  # which sends no y in its first step
        sizes = sent(spec, D)
        assert messages * sum(sizes) == size * len(sizes)
