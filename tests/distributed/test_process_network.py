from contextlib import contextmanager
from functools import partial

import pytest
from participants import (
    assert_equal_runs,
    convex_spec,
    distributed,
    simulated,
    surroundings,  # noqa: F401
)

from ngo.common import plugins
from ngo.gossip.method import METHODS
from ngo.gossip.topology import TOPOLOGIES

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
