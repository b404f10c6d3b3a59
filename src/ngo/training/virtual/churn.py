"""Workers that leave and come."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ngo.common.fields import file
from ngo.common.options import Options, declare
from ngo.common.registry import Registry, UserError, shown
from ngo.training.virtual.traces import from_zero, read_trace, worker_of

#: ``run`` → for each worker, the times at which it leaves, comes, leaves, … in order.
Changes = Callable[[Any], list[list[float]]]


@dataclass(frozen=True)
class ChurnEntry:
    """An entry of the registry."""

    of: Changes
    #: The options that it declares.
    fields: tuple[str, ...]


CHURN: Registry[ChurnEntry] = Registry("churn")


def churn(
    name: str, *, options: Options | None = None, version: int = 1
) -> Callable[[Changes], Changes]:
    """Register a function ``run`` → each worker's times of leaving, coming, leaving, …

    ``version`` is raised when its results change.
    """

    def register(of: Changes) -> Changes:
        CHURN.add(name, ChurnEntry(of, declare("churn", name, options)), of, version)
        return of

    return register


@churn("none")
def none(run: Any) -> list[list[float]]:
    """All workers are there all the time."""
    return [[] for _ in range(run.workers)]


@churn("churn_trace", options={"churn_file": file("CSV of churn: time,worker,event")})
def churn_trace(run: Any) -> list[list[float]]:
    """A file has the events ``leaves`` and ``comes``; a worker leaves first."""
    changes: list[list[float]] = [[] for _ in range(run.workers)]
    columns = {"time": from_zero, "worker": worker_of(run.workers), "event": _event}
    for row, (time, worker, event) in enumerate(
        read_trace(run.churn_file, "churn_file", columns), 1
    ):
        if ("leaves", "comes")[len(changes[worker]) % 2] != event:
            raise UserError(
                f"churn_file: {run.churn_file!r}, row {row}: worker {worker} {event}, and it is "
                f"{'there' if event == 'comes' else 'away'} already."
            )
        changes[worker].append(time)
    return changes


def _event(text: str) -> str:
    if text not in ("leaves", "comes"):
        raise ValueError(f"event {shown(text)} is neither leaves nor comes")
    return text


class Presence:
    """When workers are there."""

    def __init__(self, changes: list[list[float]]) -> None:
        self._changes = changes
        self.always = not any(changes)

    def away(self, worker: int, time: float) -> bool:
        """Whether the worker is away: from the moment at which it leaves until it comes."""
        return bisect_right(self._changes[worker], time) % 2 == 1

    def end(self, worker: int, start: float, seconds: float) -> float:
        """When a step that could begin at ``start`` ends; inf if the worker never comes back.

        A worker that leaves loses the step at which it is, and takes it from its beginning when it
        comes back. A UserError if time stands still, or has no end.
        """
        if not start < start + seconds < math.inf:
            raise UserError(
                f"speed: the step of worker {worker} at second {start:g} takes {seconds:g} s; it "
                f"must end at a later second, which is finite."
            )
        if self.always:
            return start + seconds
        changes = self._changes[worker]
        k = bisect_right(changes, start)
        while True:
            if k % 2:  # away
                if k == len(changes):
                    return math.inf
                start, k = changes[k], k + 1
            if k == len(changes) or start + seconds <= changes[k]:
                return start + seconds
            k += 1
