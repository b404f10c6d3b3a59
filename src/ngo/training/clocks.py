"""Clocks: how the time of a run passes, how long steps take, what links cost, who leaves and comes.

Traces, CSV files of what changes at which virtual time, give each of these too. Names, options and
checks are known without importing torch.
"""

from __future__ import annotations

import csv
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import itemgetter
from typing import Any

from ngo.common.fields import Entry, at_least, below, choice, file, number, registers, whole, within
from ngo.common.files import check_readable
from ngo.common.lazy import np
from ngo.common.registries import CLOCKS
from ngo.common.seeding import numpy_stream, stream_seed
from verdicts.registry import Registry, UserError, check, in_a_line

#: The seconds of a worker's next step, which begins at this time; called once for each step.
Seconds = Callable[[float], float]
#: ``run`` → the ``Seconds`` of each worker.
SPEEDS: Registry[Entry] = Registry("speed")

#: ``(sender, receiver, time)`` → latency in seconds, and seconds a byte, of a message sent then.
Link = Callable[[int, int, float], tuple[float, float]]
#: ``run`` → the ``Link`` of all pairs of workers.
LINKS: Registry[Entry] = Registry("links")

#: ``run`` → for each worker, the times at which it leaves, comes, leaves, … in order.
CHURN: Registry[Entry] = Registry("churn")

# The largest trace, in bytes.
LARGEST = 1 << 26


def read_trace(run: Any, key: str, columns: str) -> list[tuple[Any, ...]]:
    """The rows of the CSV file that the field ``key`` of a run names, in order of their times.

    Its first line is ``columns``. A one-line UserError for a file that is anything else.
    """
    path = getattr(run, key)
    rows: list[tuple[Any, ...]] = []
    check_readable(path, key, LARGEST)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            head = ",".join(next(lines, []))
            check(head == columns, key, head, f"the first line of {path!r} must be {columns}")
            names = columns.split(",")
            for line in filter(None, lines):
                if len(line) != len(names):
                    raise ValueError(f"{len(line)} values, where {len(names)} are needed")
                row = tuple(_value(run, *cell) for cell in zip(names, line, strict=True))
                if rows and row[0] < rows[-1][0]:
                    raise ValueError("its time is before that of the row before")
                rows.append(row)
    except (ValueError, csv.Error) as error:
        raise UserError(f"{key}: {path!r}, row {len(rows) + 1}: {in_a_line(error)}.") from None
    return rows


def _value(run: Any, column: str, text: str) -> Any:
    """The value of a cell; a ValueError for one that is not allowed."""
    if column == "event":
        return text
    if column in ("worker", "sender", "receiver"):
        if not 0 <= (worker := int(text)) < run.workers:
            raise ValueError(f"worker {worker} is not one of 0 to {run.workers - 1}")
        return worker
    value = float(text)
    if not 0 <= value < math.inf or (column == "seconds" and value == 0):
        raise ValueError(f"{column} {text} is not allowed: finite, and 0 or more; seconds above 0")
    return value


def _since(rows: list[tuple[float, Any]], time: float) -> Any:
    """The value of the last of the rows (time, value) up to ``time``; None before the first."""
    k = bisect_right(rows, time, key=itemgetter(0))
    return rows[k - 1][1] if k else None


SECONDS = within(1e-9, 1e9)

STEP = {
    "step_seconds": number("seconds of a worker's step, on average", 1.0, SECONDS),
    "slow_workers": whole("number of slow workers: the first ones", 0, at_least(0)),
    "slow_factor": number("factor by which a slow worker's step is longer", 1.0, SECONDS),
}
SPREAD = {**STEP, "speed_spread": number("σ of the logarithm of seconds", 0.5, within(0, 10))}
# Draws of a stream at a time.
BLOCK = 64


def _means(run: Any) -> list[float]:
    slow = run.slow_workers
    check(slow <= run.workers, "slow_workers", slow, f"it must be {run.workers} (workers) or less")
    return [run.step_seconds * (run.slow_factor if i < slow else 1.0) for i in range(run.workers)]


def _always(seconds: float) -> Seconds:
    return lambda start: seconds


@registers(SPEEDS, "constant", Entry, STEP)
def constant(run: Any) -> list[Seconds]:
    """All steps of a worker take equally long."""
    return [_always(mean) for mean in _means(run)]


@registers(SPEEDS, "log_normal", Entry, SPREAD)
def log_normal(run: Any) -> list[Seconds]:
    """Each step has a log-normal time, with σ = ``speed_spread`` and the mean ``step_seconds``."""

    def drawn(worker: int, mean: float) -> Seconds:
        factors = _factors(run, worker)
        return lambda start: mean * next(factors)

    return [drawn(i, mean) for i, mean in enumerate(_means(run))]


@registers(SPEEDS, "log_normal_workers", Entry, SPREAD)
def log_normal_workers(run: Any) -> list[Seconds]:
    """Each worker has a log-normal speed, drawn once: all its steps take equally long."""
    return [_always(mean * next(_factors(run, i))) for i, mean in enumerate(_means(run))]


def _factors(run: Any, worker: int) -> Iterator[float]:
    """Log-normal numbers of mean 1."""
    stream, spread = numpy_stream(run.seed, "speed", worker), run.speed_spread
    while True:
        yield from np.exp(spread * stream.standard_normal(BLOCK) - spread**2 / 2).tolist()


@registers(SPEEDS, "speed_trace", Entry, {"speed_file": file("CSV of speeds: time,worker,seconds")})
def speed_trace(run: Any) -> list[Seconds]:
    """A file has the seconds of the steps of a worker that begin at a time or later."""
    known: list[list[tuple[float, float]]] = [[] for _ in range(run.workers)]
    for time, worker, seconds in read_trace(run, "speed_file", "time,worker,seconds"):
        known[worker].append((time, seconds))
    for worker, rows in enumerate(known):
        there = _since(rows, 0) is not None
        check(there, "speed_file", run.speed_file, f"worker {worker} needs a row with time 0")
    return [partial(_since, rows) for rows in known]


UNIFORM = {
    "latency": number("seconds between a message's transfer and its arrival", 0.0, within(0, 1e9)),
    "bandwidth": number("bytes a second, in and out of a worker; 0: no limit", 0.0, at_least(0)),
    "slow_links": number("probability that the link of two workers is slow", 0.0, within(0, 1)),
    "slow_link_factor": number("factor of time on a slow link", 1.0, within(1, 1e9)),
}


@registers(LINKS, "uniform", Entry, UNIFORM)
def uniform(run: Any) -> Link:
    """All links have one latency and bandwidth; a slow one multiplies the times of both."""
    normal = run.latency, 1 / run.bandwidth if run.bandwidth else 0.0
    if not run.slow_links:
        return lambda sender, receiver, time: normal
    slow = normal[0] * run.slow_link_factor, normal[1] * run.slow_link_factor

    @cache
    def of(i: int, j: int) -> tuple[float, float]:
        pair = min(i, j) * run.workers + max(i, j)
        drawn = stream_seed(run.seed, "slow_links", pair) / 2**63
        return slow if drawn < run.slow_links else normal

    return lambda sender, receiver, time: of(sender, receiver)


TRACE = {"link_file": file("CSV of links: time,sender,receiver,latency,bandwidth")}


@registers(LINKS, "link_trace", Entry, {**UNIFORM, **TRACE})
def link_trace(run: Any) -> Link:
    """A file has links from a time on; others, and times before, are those of ``uniform``."""
    known: dict[tuple[int, int], list[tuple[float, Any]]] = defaultdict(list)
    columns = "time,sender,receiver,latency,bandwidth"
    for time, i, j, latency, rate in read_trace(run, "link_file", columns):
        known[i, j].append((time, (latency, 1 / rate if rate else 0.0)))
    others = uniform(run)

    def of(sender: int, receiver: int, time: float) -> tuple[float, float]:
        now = _since(known.get((sender, receiver), []), time)
        return now or others(sender, receiver, time)

    return of


@registers(CHURN, "none", Entry)
def none(run: Any) -> list[list[float]]:
    """All workers are there all the time."""
    return [[] for _ in range(run.workers)]


@registers(CHURN, "churn_trace", Entry, {"churn_file": file("CSV of churn: time,worker,event")})
def churn_trace(run: Any) -> list[list[float]]:
    """A file has the events ``leaves`` and ``comes``; a worker leaves first."""
    changes: list[list[float]] = [[] for _ in range(run.workers)]
    rows = read_trace(run, "churn_file", "time,worker,event")
    for row, (time, worker, event) in enumerate(rows, 1):
        due = ("leaves", "comes")[len(changes[worker]) % 2]
        where = f"churn_file: {run.churn_file!r}, row {row}"
        check(event == due, where, event, f"the next event of worker {worker} must be {due}")
        changes[worker].append(time)
    return changes


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
        told = f"the step of worker {worker} at second {start:g} must end at a later, finite second"
        check(start < start + seconds < math.inf, "speed", seconds, told)
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


@registers(CLOCKS, "steps", Entry)
def steps() -> None:
    """All workers step together; time is not simulated."""


@registers(CLOCKS, "waiting", Entry, TIME)
def waiting() -> None:
    """Virtual time, in which a step ends when the messages of all neighbours have arrived."""


@registers(CLOCKS, "asynchronous", Entry, {**TIME, **LOSS})
def asynchronous() -> None:
    """Virtual time, in which no worker waits: a step takes what has arrived."""
