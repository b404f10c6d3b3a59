from contextlib import contextmanager
from functools import partial

import pytest
import torch
from participants import (
    assert_equal_runs,
    convex_spec,
    distributed,
    simulated,
    surroundings,  # noqa: F401
)

from ngo.common import plugins
from ngo.common.seeding import torch_stream
from ngo.distributed.process_network import ProcessNetwork, shares
from ngo.gossip.method import METHODS
from ngo.gossip.network import SharedMatrix
from ngo.gossip.topology import TOPOLOGIES
from ngo.native.pool import in_order

PLUGIN = """
from ngo.gossip.method import method
from ngo.gossip.topology import topology


@topology("one_way", directed=True)
def one_way(n):
    return [*((i, (i + 1) % n) for i in range(n)), (0, 2)]


@method("tracking", fields=("topology",))
def tracking(step):
    Y, before = step.matrix("y"), step.matrix("g")
    step.network.mix(Y)
    Y.add_(step.G).sub_(before)
    before.copy_(step.G)
    step.network.mix(step.X)
    step.X.sub_(Y, alpha=step.lr)


@method("pushing", fields=("topology",), directed=True)
def pushing(step):
    w = step.matrix("w", columns=1, fill=1.0)
    step.X.mul_(w)
    step.descend()
    step.network.mix(step.X)
    step.network.mix(w)
    step.X.div_(w)
"""

STEPS = 30


@pytest.fixture(scope="module", autouse=True)
def plugin(tmp_path_factory):
    """A plugin file, which this process has loaded."""
    path = tmp_path_factory.mktemp("plugins") / "mixing_methods.py"
    path.write_text(PLUGIN)
    registered = forgotten(METHODS, METHODS.definitions, TOPOLOGIES, TOPOLOGIES.definitions)
    with registered, pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "_loaded", {})
        plugins.load([path])
        yield path


@contextmanager
def forgotten(*mappings):
    """Remove the entries that the block adds."""
    before = [dict(mapping) for mapping in mappings]
    yield
    for mapping, entries in zip(mappings, before, strict=True):
        mapping.clear()
        mapping.update(entries)


def with_plugin(path, work):
    """Scenario: the process loads a plugin."""
    plugins.load([path])
    work()


@pytest.mark.parametrize(
    ("processes", "method", "topology", "edges", "columns"),
    [
        (2, "tracking", "ring", 10, (10, 10)),
        (5, "tracking", "random", None, (10, 10)),
        (2, "pushing", "one_way", 6, (10, 1)),
        (5, "pushing", "one_way", 6, (10, 1)),
    ],
)
def test_a_method_that_mixes_two_matrices_is_the_simulated_one(
    processes, method, topology, edges, columns, tmp_path, plugin
):
    values = {"method": method, "topology": topology, "epochs": 0.375, "seed": 1}
    spec = convex_spec(workers=5, **values)
    theirs = simulated(spec, tmp_path)
    ours, _, how = distributed(spec, processes, tmp_path, partial(with_plugin, plugin))
    assert theirs["step"][-1] == STEPS
    assert theirs["consensus_loss"][-1] < 0.9 * theirs["consensus_loss"][0]
    assert_equal_runs(ours, theirs)
    if edges:
        assert ours["messages"][-1] == 2 * edges * STEPS
        assert ours["bytes_sent"][-1] == 4 * sum(columns) * edges * STEPS
    last = how["evaluations"][-1]
    if processes == 5:
        assert last["models_sent"] == ours["messages"][-1]
        assert last["bytes_sent"] == ours["bytes_sent"][-1]
    else:
        assert last["models_sent"] < ours["messages"][-1]


class FakeGroup:
    """A group of two processes, of which the other one sends the rows ``theirs``."""

    def __init__(self, theirs=None, me=0, members=(0, 1)):
        self.theirs, self.me, self.members = theirs, me, members
        self.sent = {}

    @property
    def others(self):
        return [q for q in self.members if q != self.me]

    def exchange(self, like, send, receive):
        self.sent = {q: len(rows) for q, rows in send.items()}
        return {q: self.theirs for q in receive}


def network(workers, W=None, **group):
    own = ProcessNetwork(FakeGroup(**group), workers, in_order)
    own.set_matrix(W)
    return own


def test_directed_rows_go_one_way():
    """Edges 0 → 1 → 2 → 3; workers 0 and 1 are in this process."""
    X = torch.randn(4, 3, generator=torch_stream(0, "X"))
    W = TOPOLOGIES["one_way"].matrix(4).dense() * 0
    for i, j in [(0, 1), (1, 2), (2, 3)]:
        W[j, i] = 0.5
    W += torch.diag(1 - W.sum(0))
    expected, shared = X.clone(), SharedMatrix()
    shared.set_matrix(W)
    shared.mix(expected, 0.7)
    own, rows = network(4, W), X[:2].clone()
    own.mix(rows, 0.7)
    assert torch.allclose(rows, expected[:2])
    assert own.group.sent == {1: 1}
    assert (own.messages, own.bytes_sent) == (2, 24)
    other, rows = network(4, W, me=1, theirs=X[[1]]), X[2:].clone()
    other.mix(rows, 0.7)
    assert torch.allclose(rows, expected[2:])
    assert (other.messages, other.bytes_sent) == (1, 12)


def test_a_lost_process_leaves_the_graph():
    own = network(4)
    own.group.members = (0,)
    own.set_matrix(TOPOLOGIES["complete"].matrix(4))
    assert own.W.dense().tolist() == [
        [0.5, 0.5, 0, 0],
        [0.5, 0.5, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_every_worker_is_in_one_process():
    for workers, processes in [(5, 2), (4, 4), (10, 3)]:
        own = shares(workers, processes)
        assert [i for part in own for i in part] == list(range(workers))
        assert max(map(len, own)) - min(map(len, own)) <= 1


def test_processes_are_described_with_their_workers():
    assert network(5).describe(0) == "process 0 (workers 0 to 1)"
    assert network(2).describe(1) == "process 1 (worker 1)"
