"""The table of parts says what resolving a run decides."""

import pytest

from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.method import FAILURES, METHODS
from ngo.gossip.step_parts import REGISTRIES, going_with
from ngo.gossip.topology import TOPOLOGIES
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

# Topologies that need no file.
DRAWN = {name for name, entry in TOPOLOGIES.items() if "graph" not in entry.fields}


def possible(**values):
    """Whether a run may have these values."""
    try:
        resolve({"workers": 16, **values})
    except UserError:
        return False
    return True


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_parts_that_go_with_a_method_are_those_of_possible_runs(method):
    entry = METHODS[method]
    names = {kind: going_with(method, kind) for kind in REGISTRIES if kind != "method"}
    graphs = {"any": "random_matching", "fixed": "ring", "tree": "chain"}
    graph = graphs[entry.graph]
    undirected = {"topology": graph} if entry.decentralized else {}
    asked = {"method": method}
    if entry.arrivals == "pair":
        asked["clock"] = "asynchronous"
    for name in REGISTRIES["local_rule"]:
        allowed = possible(**asked, local_rule=name, **undirected)
        assert allowed == (name in names["local_rule"]), name
    for name in REGISTRIES["coupling"]:
        if COUPLINGS[name].matching and entry.graph != "any":
            continue  # a fixed graph is no matching, beyond two workers
        allowed = possible(**asked, coupling=name, **undirected)
        assert allowed == (name in names["coupling"]), name
    for name in REGISTRIES["compression"]:
        allowed = possible(**asked, compression=name, **undirected)
        assert allowed == (name in names["compression"]), name
    for name in REGISTRIES["attack"]:
        if asked.get("clock") != "asynchronous":
            assert possible(**asked, attack=name, **undirected) == (name in names["attack"]), name
    found_possible = {name for name in DRAWN if possible(**asked, topology=name)}
    if entry.graph == "tree":
        assert found_possible == {"chain", "star"}
    else:
        assert found_possible == set(names["topology"]) & DRAWN
    for name in FAILURES:
        assert possible(**asked, **{name: 0.1}, **undirected) == entry.bears_failures
