from functools import partial
from types import SimpleNamespace

import pytest
import torch
from participants import (
    SMOOTH_PARAMETERS,
    at_step,
    convex_spec,
    distributed,
    end,
    simulated,
    slow,
    spec_of,
    surroundings,  # noqa: F401
)

from ngo.common.registry import UserError
from ngo.common.seeding import torch_stream
from ngo.distributed import asynchronous_network
from ngo.distributed.asynchronous_network import AsynchronousNetwork
from ngo.gossip.topology import TOPOLOGIES
from ngo.native.pool import in_order
from ngo.training.evaluation import evaluation_steps


@pytest.mark.parametrize("topology", ["ring", "random"])
def test_asynchronous_workers_take_the_newest_models(topology, tmp_path):
    spec = spec_of(workers=4, topology=topology, epochs=2.0, eval_every=1.0)
    scenario = partial(at_step, 0, 1, slow)
    ours, facts, how = distributed(spec, 4, tmp_path, scenario, asynchronous=True)
    theirs = simulated(spec, tmp_path)
    assert facts["run"] == spec.id + "-asynchronous"
    assert how["mode"] == "asynchronous"
    for name in ("step", "samples", "epoch"):
        assert ours[name].tolist() == theirs[name].tolist()
    assert ours["consensus_loss"][-1] < ours["consensus_loss"][0]
    first, *_, last = how["evaluations"]
    assert first["staleness_max"] == 0
    assert 0 < last["staleness_mean"] <= last["staleness_max"]
    assert last["staleness_max"] >= 3  # the others do not wait for the slow one
    for row, messages, size in zip(
        how["evaluations"], ours["messages"], ours["bytes_sent"], strict=True
    ):
        assert row["models_sent"] == messages
        assert row["bytes_sent"] == size == messages * SMOOTH_PARAMETERS * 4
    assert ours["messages"][-1] <= theirs["messages"][-1]


def test_models_within_a_process_are_counted_too(tmp_path):
    spec = convex_spec(workers=4, topology="complete", epochs=0.2, eval_every=0.1)
    ours, _, how = distributed(spec, 2, tmp_path, asynchronous=True)
    last, steps = how["evaluations"][-1], int(ours["step"][-1])
    assert ours["messages"][-1] == last["models_sent"] + 4 * steps
    assert ours["bytes_sent"][-1] == last["bytes_sent"] + 4 * steps * 10 * 4


def test_an_asynchronous_run_ends_with_a_diverged_row(tmp_path):
    spec = convex_spec(workers=3, lr=1e30, epochs=0.5, eval_every=0.1)
    ours, _, _ = distributed(spec, 3, tmp_path, asynchronous=True)
    assert ours["diverged"].tolist() == [False, True]


def test_the_leader_of_an_asynchronous_run_cannot_be_dropped(tmp_path):
    how = {"asynchronous": True, "on_failure": "drop"}
    with pytest.raises(UserError, match="process 0 .* only it collects the evaluations"):
        distributed(spec_of(workers=3), 3, tmp_path, partial(at_step, 5, 0, end), **how)


def test_a_lost_process_stops_an_asynchronous_run(tmp_path):
    with pytest.raises(UserError, match=r"process 2 \(worker 2\) was killed by SIGKILL"):
        distributed(spec_of(workers=3), 3, tmp_path, partial(at_step, 5, 2, end), asynchronous=True)


def test_asynchronous_workers_continue_without_a_lost_one(tmp_path):
    spec = spec_of(workers=4, epochs=2.0, eval_every=1.0)
    how = {"asynchronous": True, "on_failure": "drop"}
    ours, facts, record = distributed(spec, 4, tmp_path, partial(at_step, 5, 2, end), **how)
    assert [entry["process"] for entry in record["lost"]] == [2]
    assert [row["processes"] for row in record["evaluations"]] == [4, 3, 3]
    assert ours["step"].tolist() == evaluation_steps(spec, 1437)
    assert facts["run"] == spec.id + "-asynchronous-lost1"


def test_the_weight_of_an_absent_neighbour_is_the_workers_own(monkeypatch):
    """Workers 0 and 1 are here; of 2 and 3 only the row of 2 has arrived, at step 4 of 6."""
    X = torch.randn(4, 3, generator=torch_stream(0, "X"))
    mailbox = SimpleNamespace(newest={2: (4, X[2])}, lost=set, post=lambda *arguments: None)
    monkeypatch.setattr(asynchronous_network, "Mailbox", lambda group: mailbox)
    group = SimpleNamespace(me=0, members=(0, 1), others=[1])
    network = AsynchronousNetwork(group, 4, in_order)
    network.set_matrix(TOPOLOGIES["complete"].matrix(4))
    network.step = 6
    rows = X[:2].clone()
    network.mix(rows)
    assert torch.allclose(rows[0], 0.5 * X[0] + 0.25 * X[1] + 0.25 * X[2])
    assert torch.allclose(rows[1], 0.25 * X[0] + 0.5 * X[1] + 0.25 * X[2])
    assert network.stale == [2]
    assert (network.messages, network.bytes_sent) == (2, 24)
