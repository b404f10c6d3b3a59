"""Parts of a step that do not go together are refused in one line."""

import pytest

from ngo.common.registry import UserError
from ngo.gossip.method import METHODS, method
from ngo.gossip.topology import topology
from ngo.training.resolve import resolve


def directed_methods():
    return sorted(name for name, entry in METHODS.items() if entry.directed)


def test_a_directed_topology_needs_a_method_that_allows_it(own_entries):
    topology("circle", directed=True)(lambda n: [(i, (i + 1) % n) for i in range(n)])
    for name in ("ngo", "gossip", "local_sgd", "delayed", "gossip_until"):
        with pytest.raises(UserError) as error:
            resolve({"topology": "circle", "method": name})
        assert str(error.value) == (
            f"topology: 'circle' is directed, and method {name!r} needs symmetric weights; "
            f"methods for directed graphs: {', '.join(directed_methods())}."
        )
    assert resolve({"method": "centralized"}).topology is None
    method("push", fields=("topology",), directed=True)(lambda step: None)
    assert resolve({"topology": "circle", "method": "push"}).topology == "circle"
    assert resolve({"topology": "ring", "method": "push"}).topology == "ring"
    assert "push" in directed_methods()
    with pytest.raises(UserError, match=f": {', '.join(directed_methods())}"):
        resolve({"topology": "circle"})


def test_an_implicit_coupling_needs_a_matching():
    implicit = {"coupling": "implicit"}
    for values in (
        {"topology": "random_matching"},
        {"topology": "base_graph", "peers": 1},
        {"topology": "ring", "workers": 2},
    ):
        assert resolve({**implicit, **values}).coupling == "implicit"
    for values in ({"topology": "ring"}, {"topology": "base_graph", "peers": 2}):
        with pytest.raises(UserError) as error:
            resolve({**implicit, **values})
        assert str(error.value) == (
            "coupling: 'implicit' needs at most one neighbour of each worker in a step, and "
            f"topology {values['topology']!r} has more; topologies that can: alternating_matching, "
            "base_graph with peers 1, one_peer_hypercube, ou_equi_dyn, random_matching."
        )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"topology": "hypercube"}, "'hypercube' needs a power of 2, so workers can't be 10"),
        ({"topology": "torus", "workers": 7}, "workers can't be 7; 8 is possible"),
        ({"topology": "random_regular", "degree": 10}, "degree: 10 is not possible for 10 workers"),
        ({"topology": "small_world", "near": 3}, "near: 3 is not possible for 10 workers"),
    ],
)
def test_a_graph_that_is_impossible_is_refused(values, message):
    with pytest.raises(UserError, match=message):
        resolve(values)


@pytest.mark.parametrize("rule", ["adam", "adamw"])
@pytest.mark.parametrize("method", ["d2", "exact_diffusion"])
def test_a_correction_that_needs_a_linear_rule_says_so(method, rule):
    with pytest.raises(UserError) as error:
        resolve({"method": method, "local_rule": rule})
    assert str(error.value) == (
        f"local_rule: {rule!r} is not linear in the gradients, and with it method "
        f"{method!r} would end at a biased point; allowed: momentum, nesterov, sgd."
    )


@pytest.mark.parametrize("name", ["link_failure", "absence"])
def test_a_method_that_needs_every_message_says_why(own_entries, name):
    method("remembering", fields=("topology",), needs_every_message="adds up messages")(print)
    with pytest.raises(UserError) as error:
        resolve({"method": "remembering", name: 0.25})
    assert str(error.value) == (
        f"{name}: 0.25 is not possible with method 'remembering', which adds up messages; it "
        f"must be 0."
    )
    for each in ("delayed", "gossip_until"):
        with pytest.raises(UserError, match=f"{name}: 0.25 is not possible with meth.*must be 0"):
            resolve({"method": each, name: 0.25})
    assert resolve({"method": "remembering", name: 0}).id
    assert getattr(resolve({"method": "d2", name: 0.25}), name) == 0.25


def test_a_topology_reads_known_fields_only(own_entries):
    topology("wide")(lambda n, width: [(i, (i + width) % n) for i in range(n)])
    message = "topology: 'wide' takes an argument 'width', which is not a field of a run; declare"
    with pytest.raises(UserError, match=message):
        resolve({"topology": "wide"})
    topology("seeded")(lambda n, seed: [(i, (i + 1 + seed % 2) % n) for i in range(n)])
    assert resolve({"topology": "seeded"}).topology == "seeded"
