"""The table of parts says what resolving a run decides."""

import pytest

from ngo.common.registry import UserError
from ngo.gossip.compatibility import REGISTRIES, methods
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.method import FAILURES, METHODS
from ngo.gossip.topology import TOPOLOGIES
from ngo.training.validation import resolve

BY_NAME = {each.name: each for each in methods()}

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
    found = BY_NAME[method]
    fixed = METHODS[method].fixed
    graphs = {"any": "random_matching", "fixed": "ring", "tree": "chain"}
    graph = graphs[METHODS[method].graph]
    undirected = {"topology": graph} if METHODS[method].decentralized else {}
    asked = {"method": method}
    if METHODS[method].arrivals == "pair":
        asked["clock"] = "asynchronous"
    for name in REGISTRIES["local_rule"]:
        allowed = possible(**asked, local_rule=name, **undirected)
        assert allowed == (name in found.local_rule), name
    for name in REGISTRIES["coupling"]:
        if COUPLINGS[name].matching and METHODS[method].graph != "any":
            continue  # a fixed graph is no matching, beyond two workers
        allowed = possible(**asked, coupling=name, **undirected)
        assert allowed == (name in found.coupling), name
    for name in REGISTRIES["compression"]:
        allowed = possible(**asked, compression=name, **undirected)
        assert allowed == (name in found.compression), name
    for name in REGISTRIES["attack"]:
        if asked.get("clock") != "asynchronous":
            assert possible(**asked, attack=name, **undirected) == (name in found.attack), name
    found_possible = {name for name in DRAWN if possible(**asked, topology=name)}
    if METHODS[method].graph == "tree":
        assert found_possible == {"chain", "star"}
    else:
        assert found_possible == set(found.topology) & DRAWN
    for name in FAILURES:
        assert possible(**asked, **{name: 0.1}, **undirected) == found.failures
    assert found.asynchronous == METHODS[method].asynchronous
    assert found.fixed == fixed
