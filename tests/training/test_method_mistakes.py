"""What a method of one's own does wrong is told in one line, with its name, file and line."""

import pytest
from own_modules import quick, told

from ngo.gossip.method import GOSSIP_FIELDS, method


def test_fit_names_a_method_that_fails(own_entries):
    @method("sums", fields=("topology",))
    def sums(step):
        step.network.pull(step.X[:2], step.coupling, 1.0, step.run)

    text = told(method="sums")
    assert text.startswith("method 'sums' (test_method_mistakes.py, line ")
    assert text.endswith("2 rows are exchanged among 3 workers.")


def test_a_callbacks_own_error_is_raised_as_it_is(own_entries):
    @method("stays", fields=("topology",))
    def stays(step):
        pass

    def callback(state):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        quick(method="stays", on_step=callback)


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


def test_a_method_that_exchanges_twice_in_a_step_is_refused_in_virtual_time():
    @method("twice", fields=GOSSIP_FIELDS, asynchronous=True, local_steps=1)
    def twice(step):
        step.gossip()
        step.gossip()

    line = told(method="twice", clock="asynchronous", speed="log_normal")
    assert "clock: 'asynchronous' is not possible with a method that exchanges other than" in line
