"""A method that uses what it has not declared is told in one line."""

import pytest
from own_modules import quick, told

from ngo.gossip.method import GOSSIP_FIELDS, METHODS, method

pytestmark = pytest.mark.usefixtures("own_entries")

READS = "step.gossip() reads topology, gamma, gamma_decay, coupling, p."


def registered(fields, update):
    @method("own", fields=fields)
    def own(step):
        update(step)

    return "own"


@pytest.mark.parametrize(
    ("fields", "missing"),
    [((), "topology"), (("topology", "gamma", "gamma_decay", "coupling"), "p")],
)
def test_gossip_without_a_field_names_the_method_and_the_field(fields, missing):
    line = told(method=registered(fields, lambda step: step.gossip()))
    assert line == (
        f"method: 'own' uses the field {missing!r} of a run and does not declare it; add "
        f"{missing!r} to fields=(…) where it is registered; {READS}"
    )


@pytest.mark.parametrize(
    ("fields", "update", "missing"),
    [
        ((), lambda step: step.network.mix(step.X), "topology"),
        ((), lambda step: step.add_pulls(step.G, at=step.X), "topology"),
        (("topology",), lambda step: step.add_pulls(step.G, at=step.X), "coupling"),
        (
            ("topology",),
            lambda step: step.send_compressed(step.X, step.X, step.X[:0]),
            "compression",
        ),
        (("topology",), lambda step: step.run.delay + 1, "delay"),
    ],
)
def test_other_uses(fields, update, missing):
    line = told(method=registered(fields, update))
    assert line.startswith(f"method: 'own' uses the field {missing!r} of a run and does not decl")


def test_with_all_fields_it_trains_and_a_server_needs_none():
    def descends_and_gossips(step):
        step.descend()
        step.gossip()

    run = quick(method=registered(GOSSIP_FIELDS, descends_and_gossips), p=0.8)
    assert run.metrics["messages"].iloc[-1] > 0

    def average(step):
        step.descend()
        step.X.copy_(step.network.mean(step.X).expand_as(step.X))

    del METHODS["own"]
    assert quick(method=registered((), average)).metrics["V"].iloc[-1] < 1e-10
