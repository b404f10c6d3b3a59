import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from participants import convex_spec, store_here
from torch import nn

from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.distributed.joint_evaluations import COUNTS, Evaluations, pack_report
from ngo.engine.population import Population, Scores
from ngo.gossip.consensus import synchronization_index
from ngo.models.model import Model
from ngo.training.problem import make_problem


@pytest.fixture
def problem(tmp_path):
    spec = convex_spec(workers=3)
    return make_problem(spec, loading.load(spec.dataset, tmp_path))


def population(problem, rows):
    workers = Population(problem.model, len(rows), 0, task=problem.task, threads=1)
    workers.X.copy_(rows)
    return workers


def ledger_of(problem, store, rows, **fields):
    spec = convex_spec(workers=3, **fields)
    network = SimpleNamespace(group=SimpleNamespace(store=store), shares=[range(1), range(1, 3)])
    return Evaluations(spec, problem, network, population(problem, torch.zeros(1, 10)), rows.append)


def reports(problem, X, counts, processes=(0, 1)):
    parts = dict(enumerate(X.split([1, 2])))
    workers = {q: population(problem, parts[q]) for q in processes}
    values = [counts.get(name, 0) for name in COUNTS]
    return {
        q: pack_report(values, [q], each.evaluate(*problem.test), range(each.n), each, each.n)
        for q, each in workers.items()
    }


def test_an_evaluation_is_that_of_all_workers(problem):
    X = torch.randn(3, 10, generator=torch_stream(0, "X"))
    store, seen = store_here(), []
    evaluations = ledger_of(problem, store, seen)
    counts = {"samples": 16, "loss": 1.5, "losses": 1, "messages": 4, "message_bytes": 160}
    counts |= {"models_sent": 2, "bytes_sent": 80, "other_bytes_sent": 7, "stale": 3, "pulls": 2}
    assert not evaluations.record(0, reports(problem, X, {}))
    assert not evaluations.record(5, reports(problem, X, counts))
    assert not evaluations.record(9, reports(problem, X, counts))
    rows, traffic = evaluations.read_rows()
    assert [str(row) for row in rows] == [str(row) for row in seen]
    assert [row.step for row in rows] == [0, 5, 9]
    assert [row.samples for row in rows] == [0, 32, 64]
    assert [row.messages for row in rows] == [0, 8, 16]
    assert [row.bytes_sent for row in rows] == [0, 320, 640]
    assert math.isnan(rows[0].train_loss)
    assert rows[1].train_loss == 1.5
    scores = population(problem, X).evaluate(*problem.test)
    assert pytest.approx(float(synchronization_index(X))) == rows[1].V
    assert rows[1].consensus_loss == pytest.approx(scores.consensus_loss)
    assert rows[1].workers_loss_max == pytest.approx(max(scores.worker_losses))
    last = {"step": 9, "processes": 2, "models_sent": 8, "bytes_sent": 320, "other_bytes_sent": 28}
    assert traffic[-1] == {**last, "staleness_mean": 1.5, "staleness_max": 1}
    # Another leader continues from the store.
    after = ledger_of(problem, store, [])
    assert not after.record(12, reports(problem, X, counts, processes=[1]))
    rows, traffic = after.read_rows()
    assert rows[-1].messages == 20
    assert traffic[-1]["processes"] == 1


def test_only_the_sampled_workers_are_scored(problem):
    X = torch.randn(3, 10, generator=torch_stream(0, "X"))
    sampled = replace(problem, evaluated=[2])
    evaluations = ledger_of(sampled, store_here(), [])
    evaluations.record(0, reports(problem, X, {}))
    (row,), _ = evaluations.read_rows()
    scores = population(problem, X).evaluate(*problem.test)
    assert row.workers_loss_mean == row.workers_loss_max == pytest.approx(scores.worker_losses[2])
    # The sampled worker's process is lost.
    evaluations.record(5, reports(problem, X, {"loss": 1, "losses": 1}, processes=[0]))
    row = evaluations.read_rows()[0][-1]
    assert math.isnan(row.workers_loss_min)
    assert not row.diverged


def test_nothing_is_recorded_after_divergence(problem):
    evaluations = ledger_of(problem, store_here(), [])
    broken = reports(problem, torch.full((3, 10), math.nan), {})
    assert evaluations.record(4, broken)
    assert evaluations.record(8, broken)
    assert [row.step for row in evaluations.read_rows()[0]] == [4]
    assert not evaluations.written


def test_integer_buffers_of_the_mean_model_are_the_maximum_over_processes(problem):
    """Of the workers that do not lie: worker 2, the last of process 1, does."""

    def build(generator):
        return nn.Sequential(nn.Linear(10, 2), nn.BatchNorm1d(2))

    model = Model(build, input_shape=(10,), task="regression")
    seen = []
    network = SimpleNamespace(
        group=SimpleNamespace(store=store_here()), shares=[range(1), range(1, 3)]
    )
    consensus = Population(model, 1, 0, task=problem.task, threads=1)
    spec = SimpleNamespace(honest=2)
    evaluations = Evaluations(
        spec, replace(problem, evaluated=[0, 1]), network, consensus, seen.append
    )
    scores = Scores(0.0, math.nan, [], [])
    parts = {}
    for q, counts in enumerate(([4], [7, 9])):
        workers = Population(model, len(counts), 0, task=problem.task, threads=1)
        workers.counts.copy_(torch.tensor(counts)[:, None])
        values = [0] * len(COUNTS)
        parts[q] = pack_report(values, [q], scores, [], workers, 1)
    evaluations.record(0, parts)
    assert int(consensus.models()[0][1].num_batches_tracked) == 7
