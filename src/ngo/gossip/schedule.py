"""Schedules: γ, V_th, the graph and the learning rate of a run, if they change during its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ngo.common.fields import Entry, Options, above, brought, choice, number, registers
from ngo.common.lazy import Run, torch
from ngo.common.registries import DECLARED, LR_SCHEDULES, METROPOLIS, SCHEDULES, TOPOLOGIES
from ngo.gossip.card_graphs import CardGraphs
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.topology import DRAWN_IN_FULL, GENERATOR
from verdicts.registry import UserError, check, unknown

#: The schedule that changes nothing.
CONSTANT = "constant"

#: The fields that a schedule may change.
CHANGEABLE = ("topology", "gamma", "v_threshold")

#: ``(share, run)`` → values of some ``CHANGEABLE`` fields, after a share of the run's steps.
Values = Callable[[float, Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Schedule:
    """An entry of the registry."""

    values: Values
    #: The options that the schedule declares.
    fields: tuple[str, ...] = ()
    #: Raises a UserError if the values of a run's options do not go together.
    check: Callable[[Any], None] = lambda run: None

    @property
    def graphs(self) -> tuple[str, ...]:
        """The options that name a topology."""
        return tuple(name for name in self.fields if DECLARED[name].names is TOPOLOGIES)


def schedule(
    name: str,
    *,
    options: Options | None = None,
    check: Callable[[Any], None] = lambda run: None,
    version: int = 1,
) -> Callable[[Values], Values]:
    """Register a function ``(share, run)`` → values of fields, after a share of the run's steps.

    The share is in [0, 1). The values are those of γ (``gamma``), ``v_threshold`` and ``topology``;
    a field that the mapping lacks keeps the run's own. Every topology that it may name is the value
    of an option that is declared as a choice of ``TOPOLOGIES``. ``check(run)`` raises a UserError
    if the values of options do not go together. ``options`` are new fields of a run.
    ``version`` is raised when its results change.
    """
    return registers(SCHEDULES, name, partial(Schedule, check=check), options, version)


def scheduled(run: Any, t: int, steps: int) -> Mapping[str, Any]:
    """The fields that have other values than the ``run``'s own in step ``t`` of ``steps``.

    Further steps, which the workers of an asynchronous run may take, have those of the last one.
    """
    chosen = getattr(run, "schedule", None) or CONSTANT
    values = SCHEDULES[chosen].values(min(t, steps - 1) / steps, run)
    for name in values:
        if name not in CHANGEABLE:
            raise unknown(f"schedule: a field that {chosen!r} changes", name, CHANGEABLE)
    return values


def topologies(run: Any) -> Iterator[str]:
    """The topologies of a run, first its own; none for a centralized method."""
    if run.topology is None:
        return
    others = SCHEDULES[getattr(run, "schedule", None) or CONSTANT].graphs
    yield from dict.fromkeys(
        name for name in (run.topology, *(getattr(run, key, None) for key in others)) if name
    )


class Mixing:
    """The mixing matrices of a run, exchange after exchange."""

    def __init__(
        self, name: str, n: int, fields: object, generator: torch.Generator | None = None
    ) -> None:
        """``fields`` holds the fields of the run as attributes; ``generator`` is changed.

        Options of the topology that it lacks have their defaults.
        """
        self._topology = TOPOLOGIES[name]
        self._n = n
        self._values: dict[str, Any] = {}
        for key in self._topology.fields:
            default = DECLARED[key].default if key in DECLARED else None
            if (value := getattr(fields, key, default)) is None:
                raise UserError(f"topology: {name!r} needs {key!r}, which cannot be given here.")
            self._values[key] = value
        self._period = self._topology.period(n, **self._values)
        self._known: dict[int, MixingMatrix] = {}  # those of one period
        self._values |= {GENERATOR: generator, "weights": getattr(fields, "weights", METROPOLIS)}
        if GENERATOR not in self._topology.arguments:  # a mistake in it stops the run at its start
            self.at(0)

    def check_again(self) -> None:
        """Raise a UserError for a topology that has another graph when it is asked again, or after
        its period, or one that is not a matching, as it says.
        """
        topology, asked = self._topology, list[Any]()
        for t in (0, 0, *([self._period] if topology.varies and self._period else [])):
            values = {**self._values, GENERATOR: torch.Generator().manual_seed(0)}
            W = topology.matrix(self._n, **values, t=t)
            asked.append([W.senders.tolist(), W.receivers.tolist(), W.weights.tolist()])
        wrong = None
        if asked[0] != asked[1]:
            wrong = "has other edges when it is asked again; draw them by its argument generator"
        elif asked[0] != asked[-1]:
            wrong = f"has other edges after its period of {self._period} exchanges"
        elif topology.matching(self._n, **self._values) and len({*asked[0][1]}) < len(asked[0][1]):
            wrong = "says that it is a matching, and a worker has several neighbours"
        if wrong:
            raise UserError(f"topology: {topology.name!r} {wrong}.")

    def at(self, t: int) -> MixingMatrix:
        """The matrix of exchange ``t``, counted from 0.

        Call it once for each step, in order. Random graphs are drawn in every step, also if nothing
        is exchanged in it.
        """
        if self._period is None:
            return self._topology.matrix(self._n, **self._values, t=t)
        t %= self._period
        if t not in self._known:
            self._known[t] = self._topology.matrix(self._n, **self._values, t=t)
        return self._known[t]

    def cycle(self, draws: int) -> list[MixingMatrix]:
        """The matrices of one period, or ``draws`` of those that may never repeat."""
        return [self.at(t) for t in range(self._period or draws)]


class ScheduledMixing:
    """The mixing matrices of a run, whose topology may change by its schedule."""

    def __init__(self, run: Any, steps: int, generator: torch.Generator, card: Any = None) -> None:
        """``run`` has the fields of a run as attributes; ``generator`` is changed.

        On a ``card``, the device, the random graphs of up to ``DRAWN_IN_FULL`` workers are drawn.
        """
        self._run, self._steps = run, steps
        mixings = {name: Mixing(name, run.workers, run, generator) for name in topologies(run)}
        for name, mixing in mixings.items():
            if brought(TOPOLOGIES, name):
                mixing.check_again()
        self._mixings: dict[str, Mixing | CardGraphs] = {**mixings}
        self.directed = any(TOPOLOGIES[name].directed for name in self._mixings)
        if card is not None and "random" in self._mixings and run.workers <= DRAWN_IN_FULL:
            self._mixings["random"] = CardGraphs(run, card)

    def at(self, step: int, exchange: int) -> MixingMatrix:
        """The matrix of a ``step`` after so many exchanges. Call it once for each step, in order.

        A graph that changes from exchange to exchange counts those on other graphs, too.
        """
        values = scheduled(self._run, step, self._steps)
        chosen = values.get("topology", self._run.topology)
        if chosen not in self._mixings:
            raise unknown("schedule: a topology that no option names", chosen, self._mixings)
        return self._mixings[chosen].at(exchange)


@schedule(CONSTANT)
def constant(share: float, run: Any) -> Mapping[str, object]:
    """The same values in all steps."""
    return {}


def _options(place: str) -> dict[str, Any]:
    """The values of a phase."""
    text = f"in the {place} phase; without it, the run's own"
    return {
        f"{place}_topology": choice(f"graph {text}", None, TOPOLOGIES, optional=True),
        f"{place}_gamma": number(f"γ {text}", None, above(0), optional=True),
        f"{place}_v_threshold": number(f"V_th {text}", None, above(0), optional=True),
    }


PHASES = {
    "second_phase": number("share of the run's steps before the second phase", 0.5, above(0, 1)),
    "third_phase": number(
        "share of the run's steps before the third phase; 1: no third phase", 1.0, above(0, 1)
    ),
    **_options("second"),
    **_options("third"),
}


def _check(run: Any) -> None:
    later = run.third_phase >= run.second_phase
    told = f"the second phase begins at {run.second_phase:g}; the third must not be before it"
    check(later, "third_phase", run.third_phase, told)
    if not (late := _values(run, "third")) and not _values(run, "second"):
        advice = "give a value of the second or third phase, such as second_gamma"
        raise UserError(f"schedule: 'phases' changes nothing; {advice}.")
    if run.third_phase == 1 and late:
        fault = "there is no third phase; third_phase must be below 1"
        raise UserError(f"third_{next(iter(late))}: {fault}.")


@schedule("phases", options=PHASES, check=_check)
def phases(share: float, run: Any) -> Mapping[str, object]:
    """Two or three phases, each with values of its own for γ, V_th and the graph.

    The second begins after a share ``second_phase`` of the run's steps, the third after
    ``third_phase``. In each of them, a field has the value of the option with the phase's name
    before it, such as ``second_gamma``, or the run's own if that is not given. A window is three
    phases of which the third has the run's own values.

    This is how Kong et al. 2021 hold V at a level in one phase, by V_th, while the others average
    exactly (on the graph ``complete``), how Zhu et al. 2026 exchange much in a window of the run
    and little or nothing (on the graph ``empty``) elsewhere, and, in steps, how Wang and Johansson
    2026 lower γ during a run.
    """
    if share < run.second_phase:
        return {}
    return _values(run, "second" if share < run.third_phase else "third")


def _values(run: Any, place: str) -> dict[str, object]:
    """The values that are given for a phase."""
    given = {name: getattr(run, f"{place}_{name}", None) for name in CHANGEABLE}
    return {name: value for name, value in given.items() if value is not None}


#: ``(share, run)`` → the factor of η, after a share of the run's steps in [0, 1).
Factor = Callable[[float, Run], float]


def lr_schedule(
    name: str, *, options: Options | None = None, version: int = 1
) -> Callable[[Factor], Factor]:
    """Register a function ``(share, run)`` → the factor of η, after a share of the run's steps.

    The factor must be above 0. ``options`` are new fields of a run, which it reads as ``run.NAME``.
    ``version`` is raised when its results change.
    """
    return registers(LR_SCHEDULES, name, Entry, options, version)


def learning_rate(run: Run, t: int, steps: int) -> float:
    """η_t at step ``t`` of ``steps``: η times the factors of the schedule and of the warm-up.

    The warm-up is linear under every schedule: (t + 1)/m in the first m = ``warmup`` × ``steps``
    steps (Goyal et al. 2017).
    """
    lr: float = run.lr * LR_SCHEDULES[run.lr_schedule].of(t / steps, run)
    return lr if run.warmup == 0 else lr * min(1, (t + 1) / (run.warmup * steps))


@lr_schedule("constant")
def constant_rate(share: float, run: Run) -> float:
    """The same rate in all steps: η_t = η."""
    return 1.0


@lr_schedule("cosine")
def cosine(share: float, run: Run) -> float:
    """Half a cosine, from η to 0: η_t = η (1 + cos(π t / T)) / 2.

    Loshchilov and Hutter 2017, without restarts.
    """
    return (1 + math.cos(math.pi * share)) / 2


DROPS = {
    "lr_drop_factor": number("factor of η at each drop", 0.1, above(0, 1)),
    "lr_first_drop": number("share of the run's steps before the first drop", 0.5, above(0, 1)),
    "lr_second_drop": number(
        "share of the run's steps before the second drop; 1: no second drop", 0.75, above(0, 1)
    ),
}


@lr_schedule("step", options=DROPS)
def step(share: float, run: Run) -> float:
    """Two drops: η_t = η f^k after the k-th, f = ``lr_drop_factor``.

    They come after two shares of the run's steps (as in He et al. 2016).
    """
    drops = (share >= run.lr_first_drop) + (share >= run.lr_second_drop)
    return run.lr_drop_factor**drops
