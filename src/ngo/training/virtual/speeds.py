"""How long a worker's step takes, in virtual seconds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ngo.common.fields import at_least, file, number, whole, within
from ngo.common.options import Options, declare
from ngo.common.registry import Registry, UserError
from ngo.common.seeding import numpy_stream
from ngo.training.virtual.traces import above_zero, from_zero, read_trace, worker_of

#: The seconds of a worker's next step, which begins at this time; called once for each step.
Seconds = Callable[[float], float]
#: ``run`` → the ``Seconds`` of each worker.
Speed = Callable[[Any], list[Seconds]]


@dataclass(frozen=True)
class SpeedEntry:
    """An entry of the registry."""

    of: Speed
    #: The options that it declares.
    fields: tuple[str, ...]


SPEEDS: Registry[SpeedEntry] = Registry("speed")

SECONDS = within(1e-9, 1e9)

STEP = {
    "step_seconds": number("seconds of a worker's step, on average", 1.0, SECONDS),
    "slow_workers": whole("number of slow workers: the first ones", 0, at_least(0)),
    "slow_factor": number("factor by which a slow worker's step is longer", 1.0, SECONDS),
}
SPREAD = {**STEP, "speed_spread": number("σ of the logarithm of seconds", 0.5, within(0, 10))}
# Draws of a stream at a time.
BLOCK = 64


def speed(
    name: str, *, options: Options | None = None, version: int = 1
) -> Callable[[Speed], Speed]:
    """Register a function ``run`` → the ``Seconds`` of each worker, a function each.

    ``version`` is raised when its results change.
    """

    def register(of: Speed) -> Speed:
        SPEEDS.add(name, SpeedEntry(of, declare("speed", name, options)), of, version)
        return of

    return register


def _means(run: Any) -> list[float]:
    if run.slow_workers > run.workers:
        raise UserError(
            f"slow_workers: {run.slow_workers} is more than the {run.workers} workers; it must be "
            f"{run.workers} or less."
        )
    slow = run.slow_workers
    return [run.step_seconds * (run.slow_factor if i < slow else 1.0) for i in range(run.workers)]


def _always(seconds: float) -> Seconds:
    return lambda start: seconds


@speed("constant", options=STEP)
def constant(run: Any) -> list[Seconds]:
    """All steps of a worker take equally long."""
    return [_always(mean) for mean in _means(run)]


@speed("log_normal", options=SPREAD)
def log_normal(run: Any) -> list[Seconds]:
    """Each step has a log-normal time, with σ = ``speed_spread`` and the mean ``step_seconds``."""

    def drawn(worker: int, mean: float) -> Seconds:
        factors = _factors(run, worker)
        return lambda start: mean * next(factors)

    return [drawn(i, mean) for i, mean in enumerate(_means(run))]


@speed("log_normal_workers", options=SPREAD)
def log_normal_workers(run: Any) -> list[Seconds]:
    """Each worker has a log-normal speed, drawn once: all its steps take equally long."""
    return [_always(mean * next(_factors(run, i))) for i, mean in enumerate(_means(run))]


def _factors(run: Any, worker: int) -> Iterator[float]:
    """Log-normal numbers of mean 1."""
    stream, spread = numpy_stream(run.seed, "speed", worker), run.speed_spread
    while True:
        yield from np.exp(spread * stream.standard_normal(BLOCK) - spread**2 / 2).tolist()


@speed("speed_trace", options={"speed_file": file("CSV of speeds: time,worker,seconds")})
def speed_trace(run: Any) -> list[Seconds]:
    """A file has the seconds of the steps of a worker that begin at a time or later."""
    columns = {"time": from_zero, "worker": worker_of(run.workers), "seconds": above_zero}
    known: list[tuple[list[float], list[float]]] = [([], []) for _ in range(run.workers)]
    for time, worker, seconds in read_trace(run.speed_file, "speed_file", columns):
        known[worker][0].append(time)
        known[worker][1].append(seconds)

    def read(worker: int) -> Seconds:
        times, seconds = known[worker]
        if not times or times[0] > 0:
            raise UserError(
                f"speed_file: {run.speed_file!r} has no row of worker {worker} with time 0."
            )
        return lambda start: seconds[bisect_right(times, start) - 1]

    return [read(i) for i in range(run.workers)]
