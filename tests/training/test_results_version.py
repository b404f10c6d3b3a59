import re

import networkx as nx

from ngo.common import plugins
from ngo.engine.backends import BACKENDS
from ngo.gossip.schedule import schedule
from ngo.gossip.topology import topology
from ngo.training import results_version as module
from ngo.training.results_version import results_version
from ngo.training.spec_checks import resolve

PLUGIN = """
from ngo import topology

@topology("own")
def own(n):
    return [(k, k + 1) for k in range(n - 1)]
"""


def of(**values):
    return results_version(resolve(values))


def test_most_runs_have_the_number_of_all(monkeypatch):
    assert of() == of(method="diloco") == of(clock="waiting", attack="sign_flip") == "1"
    monkeypatch.setattr(module, "RESULTS_VERSION", 2)
    assert of() == of(method="diloco") == "2"


def test_the_number_of_an_entry_is_that_of_the_runs_that_name_it(own_entries):
    def path(n):
        return [(k, k + 1) for k in range(n - 1)]

    topology("own", version=2)(path)
    topology("again")(path)

    assert of(topology="own") == "1 topology.own=2"
    assert of(topology="again") == of() == "1"

    @schedule("own", version=3)
    def values(share, run):
        return {}

    assert of(topology="own", schedule="own") == "1 schedule.own=3 topology.own=2"
    assert of(topology="ring", schedule="own") == "1 schedule.own=3"


def test_an_automatic_backend_may_be_any(monkeypatch):
    monkeypatch.setitem(BACKENDS.versions, "vmap", 4)
    assert (of(), of(backend="vmap"), of(backend="loop")) == ("1 backend.vmap=4",) * 2 + ("1",)


def test_the_bytes_of_a_plugin_are_those_of_the_runs_that_use_it(own_entries, tmp_path):
    path = tmp_path / "versioned.py"
    path.write_text(PLUGIN)
    plugins.load([path])
    first = of(topology="own")
    assert re.fullmatch("1 files=[0-9a-f]{8}", first)
    assert of() == "1"
    path.write_text(PLUGIN + "# changed\n")
    assert re.fullmatch("1 files=[0-9a-f]{8}", of(topology="own"))
    assert of(topology="own") != first
    assert of() == "1"


def test_the_bytes_of_a_graph_are_those_of_the_runs_that_use_it(tmp_path):
    path, found = tmp_path / "graph.gml", set()
    for graph in (nx.path_graph(4), nx.cycle_graph(4)):
        nx.write_gml(graph, path)
        found.add(of(topology="graph_file", graph=str(path), workers=4))
        assert of(workers=4) == "1"
    assert len(found) == 2
    assert all(re.fullmatch("1 files=[0-9a-f]{8}", each) for each in found)
