import pytest
import torch
from stepping import N, Stepping, ring_matrix, states

from ngo.common.fields import above, number
from ngo.common.options import DECLARED
from ngo.common.registry import UserError
from ngo.gossip.local_rule import LOCAL_RULES
from ngo.gossip.method import DECENTRALIZED, METHODS, method
from ngo.gossip.mixing_matrix import mixing_matrix, outgoing_shares
from ngo.gossip.topologies.static import chain


def test_a_method_is_registered_with_its_facts_and_options(own_entries):
    mass = number("share of the momentum", 0.9, above(0))

    @method(
        "heavy",
        fields=("topology",),
        options={"mass": mass},
        directed=True,
        linear_rule=True,
        needs_every_message="adds up what it has received",
        local_steps=1,
    )
    def heavy(step):
        step.X.sub_(step.G)

    entry = METHODS["heavy"]
    assert entry.update is heavy
    assert entry.fields == ("topology", *DECENTRALIZED, "mass")
    assert (entry.linear_rule, entry.needs_every_message) == (True, "adds up what it has received")
    assert entry.fixed == {"local_steps": 1}
    assert (entry.decentralized, entry.directed, entry.asynchronous) == (True, True, False)
    assert DECLARED["mass"].owners == ("method",)
    with pytest.raises(UserError, match="method: 'heavy' is registered already"):
        method("heavy")(lambda step: None)
    method("heavy", fields=("topology",))(heavy)  # the same definition again replaces the entry
    assert METHODS["heavy"].fields == ("topology", *DECENTRALIZED)


def test_push_sum_is_a_method_of_a_few_lines():
    """Without gradients the ratios agree on the mean of the start, over a directed graph."""

    def push_sum(step):
        weight = step.matrix("weight", columns=1, fill=1.0)
        mass = step.X * weight - step.lr * step.G
        step.network.mix(mass)
        step.network.mix(weight)
        step.X.copy_(mass / weight)

    X, _ = states()
    n = len(X)
    edges = [*((i, (i + 1) % n) for i in range(n)), (0, 2), (3, 1)]
    stepping = Stepping(push_sum, X, outgoing_shares(n, edges))
    stepping.network.directed = True
    for _ in range(200):
        sent = stepping.advance()
    assert sent == 2 * len(edges)
    assert torch.allclose(stepping.X, X.mean(0).expand_as(X), atol=1e-9)


TOGETHER = [name for name, each in METHODS.items() if each.arrivals != "pair"]
PAIRS = [*((name, "sgd") for name in TOGETHER), *(("ngo", rule) for rule in LOCAL_RULES)]


@pytest.mark.parametrize(("name", "rule"), PAIRS)
def test_the_compiled_step_of_float32_is_that_of_float64(name, rule):
    """The slow references of methods and rules are compared with float64."""
    W = mixing_matrix(chain(N)) if name == "relay_sum" else ring_matrix()
    X, G = states(d=1500)
    how = {"W": W, "rule": rule, "weight_decay": 0.01, "p": 0.9, "v_threshold": 1e-3}
    compiled, exact = (Stepping(name, Y, **how) for Y in (X.float(), X))
    for t in range(4):
        for stepping in (compiled, exact):
            stepping.run.lr = 0.1 / (1 + t)
            stepping.advance(G.to(stepping.X) * stepping.X)
    assert torch.allclose(compiled.X.double(), exact.X, rtol=0, atol=1e-4)
