from functools import partial

import pytest
import torch
from participants import (
    at_step,
    convex_spec,
    distributed,
    end,
    freeze,
    in_evaluation,
    simulated,
    spec_of,
    surroundings,  # noqa: F401
)

from ngo import datasets, training
from ngo.consensus import synchronization_index
from ngo.graphs import mixing_stream, without
from ngo.partition_file import draw
from ngo.population import Population
from ngo.protocols import PROTOCOLS
from ngo.registry import UserError
from ngo.seeding import torch_stream


def after_a_loss(spec, parts, data, lost, step):
    """The workers of a run on a complete graph that loses one before its gradient of ``step``:
    in that step nobody pulls.
    """
    n = spec.workers
    population = Population(spec.model, n, spec.seed)
    streams = [
        training.BatchStream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
        for i, part in enumerate(parts)
    ]
    batches = training.Batches(population.task, data, streams)
    W = next(mixing_stream(spec.topology, n, None, torch_stream(0, "graphs")))
    apart = without(W, {lost})
    for t in range(training.schedule(spec, sum(map(len, parts)))[-1]):
        population.gradients(batches)
        matrix = W if t < step else apart if t > step else torch.eye(n, dtype=W.dtype)
        PROTOCOLS[spec.protocol].step(t, population.X, population.G, matrix, spec, [])
    return population.X[[i for i in range(n) if i != lost]]


@pytest.mark.parametrize("lost", [2, 0])
def test_those_that_are_left_go_on_with_renewed_weights(lost, tmp_path):
    spec = spec_of(workers=4, topology="complete")
    step = 7
    befalls = partial(at_step, step, lost, end)
    ours, facts, how = distributed(spec, 4, tmp_path, befalls, on_failure="drop")
    data = datasets.load("digits", tmp_path)
    X = after_a_loss(spec, draw(spec, data.labels), data, lost, step)
    assert ours["V"][-1] == pytest.approx(float(synchronization_index(X)), rel=1e-4)
    model = Population(spec.model, 1, spec.seed)
    model.X.copy_(X.mean(0, keepdim=True))
    inputs = data.normalised(data.test_inputs)
    expected = model.evaluate([inputs], [data.test_targets]).consensus_loss
    assert ours["consensus_loss"][-1] == pytest.approx(expected, rel=1e-4)
    # The rows before, also those of a leader that is gone, are the simulation's.
    theirs = simulated(spec, tmp_path)
    assert ours["step"].tolist() == theirs["step"].tolist()
    assert ours["V"][1] == pytest.approx(theirs["V"][1], rel=1e-4)
    assert theirs["step"][1] < step < theirs["step"][2]
    assert how["lost"] == [
        {"process": lost, "workers": [lost], "step": step + 1, "how": "was killed by SIGKILL"}
    ]
    assert facts["run"] == spec.id + "-lost1"
    # 12 models a step, then 6 among three; the broken step is not counted.
    since = ours["step"][-1] - ours["step"][-2]
    assert ours["messages"][-1] - ours["messages"][-2] == 6 * since
    assert ours["samples"][-1] - ours["samples"][-2] == 3 * 16 * since


@pytest.mark.parametrize("protocol", ["ngo", "centralized", "delayed"])
def test_a_ring_that_loses_one_is_a_path(protocol, tmp_path):
    """Those far from it notice later, and those behind catch up."""
    spec = spec_of(workers=5, protocol=protocol, epochs=1.0, eval_every=0.5)
    befalls = partial(at_step, 4, 3, end)
    ours, _, how = distributed(spec, 5, tmp_path, befalls, on_failure="drop")
    assert [row["processes"] for row in how["evaluations"]] == [5, 4, 4]
    assert ours["step"].tolist() == training.schedule(spec, 1437)
    since = ours["step"][-1] - ours["step"][-2]
    sent = {"ngo": 6, "delayed": 6, "centralized": 8}[protocol]
    assert ours["messages"][-1] - ours["messages"][-2] == sent * since
    crossed = [row["models_sent"] for row in how["evaluations"]]
    assert crossed[-1] - crossed[-2] == (protocol != "centralized") * sent * since
    assert (ours["V"][-1] == 0) == (protocol == "centralized")


@pytest.mark.parametrize(
    ("process", "moment", "reports"),
    [
        (1, "before its report", 2),
        (0, "before its report", 2),
        (1, "before the answer", 3),
        (0, "before the answer", 3),
        (0, "before the files", 3),
    ],
)
@pytest.mark.parametrize("lr", [0.02, 1e30], ids=["at the end", "where it diverges"])
def test_a_run_that_loses_one_in_its_last_evaluation_ends(lr, process, moment, reports, tmp_path):
    spec = convex_spec(workers=3, lr=lr, epochs=0.08, eval_every=0.03)
    steps = [0, 4, 8, 11] if lr < 1 else [0, 4]
    befalls = partial(in_evaluation, steps[-1], process, moment)
    ours, _, how = distributed(spec, 3, tmp_path, befalls, on_failure="drop")
    assert ours["step"].tolist() == steps
    assert ours["diverged"].tolist() == [False] * (len(steps) - 1) + [lr > 1]
    last = steps[-1] - steps[-2]
    assert ours["samples"][-1] == 3 * 16 * steps[-2] + reports * 16 * last
    assert [row["processes"] for row in how["evaluations"]] == [3] * (len(steps) - 1) + [reports]
    assert [(entry["process"], entry["step"]) for entry in how["lost"]] == [(process, steps[-1])]


def test_a_lost_process_stops_the_others(tmp_path):
    with pytest.raises(UserError) as told:
        distributed(spec_of(workers=4), 4, tmp_path, partial(at_step, 5, 2, end))
    assert "process 2 (worker 2) was killed by SIGKILL" in str(told.value)
    assert "--on-failure drop" in str(told.value)
    assert "\n" not in str(told.value)
    assert not list((tmp_path / "distributed").iterdir())


def test_a_silent_process_stops_the_others_in_time(tmp_path):
    befalls = partial(at_step, 5, 1, freeze)
    with pytest.raises(UserError, match=r"process 1 \(worker 1\) does not answer"):
        distributed(convex_spec(workers=3), 3, tmp_path, befalls, timeout=2.5)


def test_a_silent_process_is_dropped(tmp_path):
    befalls = partial(at_step, 5, 1, freeze)
    _, _, how = distributed(
        convex_spec(workers=3), 3, tmp_path, befalls, timeout=2.5, on_failure="drop"
    )
    assert [(entry["process"], entry["how"]) for entry in how["lost"]] == [(1, "does not answer")]
    assert how["evaluations"][-1]["processes"] == 2


def test_the_leader_of_an_asynchronous_run_cannot_be_dropped(tmp_path):
    how = {"asynchronous": True, "on_failure": "drop"}
    with pytest.raises(UserError, match="process 0 .* only it gathers the evaluations"):
        distributed(spec_of(workers=3), 3, tmp_path, partial(at_step, 5, 0, end), **how)


def test_a_lost_process_stops_an_asynchronous_run(tmp_path):
    with pytest.raises(UserError, match=r"process 2 \(worker 2\) was killed by SIGKILL"):
        distributed(spec_of(workers=3), 3, tmp_path, partial(at_step, 5, 2, end), asynchronous=True)


def test_asynchronous_workers_go_on_without_one(tmp_path):
    spec = spec_of(workers=4, epochs=2.0, eval_every=1.0)
    how = {"asynchronous": True, "on_failure": "drop"}
    ours, facts, told = distributed(spec, 4, tmp_path, partial(at_step, 5, 2, end), **how)
    assert [entry["process"] for entry in told["lost"]] == [2]
    assert [row["processes"] for row in told["evaluations"]] == [4, 3, 3]
    assert ours["step"].tolist() == training.schedule(spec, 1437)
    assert facts["run"] == spec.id + "-asynchronous-lost1"
