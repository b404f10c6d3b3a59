"""Clocks: how the time of a run passes.

Names, options and checks are known without importing torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ngo.common.fields import at_least, below, choice, number
from ngo.common.options import registers
from ngo.common.registry import Registry, UserError
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.method import FAILURES, METHODS, Method
from ngo.training.virtual.parts import CHURN, LINKS, SPEEDS

if TYPE_CHECKING:
    from ngo.training.problem import Problem
    from ngo.training.spec import RunSpec
    from ngo.training.stepper import Stepper

#: ``(run, problem, stops, backend=…, threads=…)`` → the stepper. At ``stops``, steps of the run,
#: its state has to be known.
MakeStepper = Callable[..., "Stepper"]


@dataclass(frozen=True)
class Clock:
    """An entry of the registry."""

    stepper: MakeStepper
    #: The options that it declares.
    fields: tuple[str, ...]


CLOCKS: Registry[Clock] = Registry("clock")

#: The fields of a run that name a part of virtual time.
PARTS: dict[str, Registry[Any]] = {"speed": SPEEDS, "links": LINKS, "churn": CHURN}

TIME = {
    "speed": choice("virtual seconds of a worker's step", "constant", SPEEDS),
    "links": choice("latency and bandwidth between workers", "uniform", LINKS),
    "churn": choice("workers that leave and come", "none", CHURN),
    "joules_step": number("energy of a worker's step, in joules", 0.0, at_least(0)),
    "joules_byte": number("energy of a byte sent, in joules", 0.0, at_least(0)),
}
LOSS = {"message_loss": number("probability that a message is lost", 0.0, below(0, 1))}


@registers(CLOCKS, "steps", Clock)
def steps(spec: RunSpec, problem: Problem, stops: Iterable[int], **how: Any) -> Stepper:
    """All workers step together; time is not simulated."""
    from ngo.training.stepper import Stepper

    return Stepper(spec, problem, **how)


@registers(CLOCKS, "waiting", Clock, TIME)
def waiting(spec: RunSpec, problem: Problem, stops: Iterable[int], **how: Any) -> Stepper:
    """Virtual time, in which a step ends when the messages of all neighbours have arrived."""
    from ngo.training.virtual.waiting_stepper import WaitingStepper

    return WaitingStepper(spec, problem, **how)


@registers(CLOCKS, "asynchronous", Clock, {**TIME, **LOSS})
def asynchronous(spec: RunSpec, problem: Problem, stops: Iterable[int], **how: Any) -> Stepper:
    """Virtual time, in which no worker waits: a step takes what has arrived."""
    from ngo.training.virtual.asynchronous_stepper import AsynchronousStepper

    return AsynchronousStepper(spec, problem, stops, **how)


def check_clock(spec: RunSpec, entry: Method) -> None:
    """Raise a one-line UserError unless method, failures and traces go with the run's clock."""
    if spec.clock != "asynchronous":
        if entry.arrivals == "pair":
            raise UserError(
                f"clock: {spec.clock!r} is not possible with method {spec.method!r}, whose workers "
                f"never step together; it must be asynchronous."
            )
    elif not entry.asynchronous and entry.arrivals == "newest":
        able = (k for k, each in METHODS.items() if each.asynchronous or each.arrivals != "newest")
        raise UserError(
            f"clock: 'asynchronous' is not possible with method {spec.method!r}, whose workers "
            f"have to wait; it must be waiting or steps, or the method one of "
            f"{', '.join(sorted(able))}."
        )
    else:
        _check_asynchronous(spec)
    if spec.clock != "steps":
        for name, registry in PARTS.items():
            registry[getattr(spec, name)].of(spec)


def _check_asynchronous(spec: RunSpec) -> None:
    for name in FAILURES:
        if rate := getattr(spec, name):
            raise UserError(
                f"{name}: {rate:g} is drawn for the steps that all workers take together, and "
                f"with clock 'asynchronous' they take none; it must be 0."
            )
    if spec.liars:
        raise UserError(
            f"attack: {spec.attack!r} is a lie about the models of one step, and with clock "
            f"'asynchronous' models of several steps meet; it must be none."
        )
    if spec.coupling is not None and COUPLINGS[spec.coupling].matching:
        raise UserError(
            f"coupling: {spec.coupling!r} moves both ends of an edge at once, and with clock "
            f"'asynchronous' each worker moves alone."
        )
