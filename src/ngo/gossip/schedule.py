"""Schedules: γ, V_th and the graph of a run, if they change during its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ngo.common.options import DECLARED, Options, declare, takes_options
from ngo.common.registry import Registry, unknown
from ngo.gossip.topology import TOPOLOGIES, Mixing

if TYPE_CHECKING:
    import torch

    from ngo.gossip.mixing_matrix import MixingMatrix

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


SCHEDULES: Registry[Schedule] = Registry("schedule")


@takes_options
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

    def register(values: Values) -> Values:
        fields = declare("schedule", name, options)
        SCHEDULES.add(name, Schedule(values, fields, check), values, version)
        return values

    return register


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


class ScheduledMixing:
    """The mixing matrices of a run, whose topology may change by its schedule."""

    def __init__(self, run: Any, steps: int, generator: torch.Generator) -> None:
        """``run`` has the fields of a run as attributes; ``generator`` is changed."""
        self._run, self._steps = run, steps
        self._each = {name: Mixing(name, run.workers, run, generator) for name in topologies(run)}
        self.directed = any(mixing.directed for mixing in self._each.values())

    def at(self, step: int, exchange: int) -> MixingMatrix:
        """The matrix of a ``step`` after so many exchanges. Call it once for each step, in order.

        A graph that changes from exchange to exchange counts those on other graphs, too.
        """
        values = scheduled(self._run, step, self._steps)
        chosen = values.get("topology", self._run.topology)
        if chosen not in self._each:
            raise unknown("schedule: a topology that no option names", chosen, self._each)
        return self._each[chosen].at(exchange)
