"""What a message costs on the link between two workers, in virtual seconds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from ngo.common.fields import at_least, file, number, within
from ngo.common.options import Options, declare
from ngo.common.registry import Registry
from ngo.common.seeding import stream_seed
from ngo.training.virtual.traces import from_zero, read_trace, worker_of

#: ``(sender, receiver, time)`` → latency in seconds, and seconds a byte, of a message sent then.
Link = Callable[[int, int, float], tuple[float, float]]
#: ``run`` → its links.
Links = Callable[[Any], Link]


@dataclass(frozen=True)
class LinksEntry:
    """An entry of the registry."""

    of: Links
    #: The options that it declares.
    fields: tuple[str, ...]


LINKS: Registry[LinksEntry] = Registry("links")

UNIFORM = {
    "latency": number("seconds between a message's transfer and its arrival", 0.0, within(0, 1e9)),
    "bandwidth": number("bytes a second, in and out of a worker; 0: no limit", 0.0, at_least(0)),
    "slow_links": number("probability that the link of two workers is slow", 0.0, within(0, 1)),
    "slow_link_factor": number("factor of time on a slow link", 1.0, within(1, 1e9)),
}


def links(
    name: str, *, options: Options | None = None, version: int = 1
) -> Callable[[Links], Links]:
    """Register a function ``run`` → the ``Link`` function of all pairs of workers.

    ``version`` is raised when its results change.
    """

    def register(of: Links) -> Links:
        LINKS.add(name, LinksEntry(of, declare("links", name, options)), of, version)
        return of

    return register


@links("uniform", options=UNIFORM)
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


@links("link_trace", options={**UNIFORM, **TRACE})
def link_trace(run: Any) -> Link:
    """A file has links from a time on; others, and times before, are those of ``uniform``."""
    worker = worker_of(run.workers)
    known: dict[tuple[int, int], tuple[list[float], list[tuple[float, float]]]] = {}
    columns = {"time": from_zero, "sender": worker, "receiver": worker}
    columns |= {"latency": from_zero, "bandwidth": from_zero}
    for time, i, j, latency, rate in read_trace(run.link_file, "link_file", columns):
        times, values = known.setdefault((i, j), ([], []))
        times.append(time)
        values.append((latency, 1 / rate if rate else 0.0))
    others = uniform(run)

    def of(sender: int, receiver: int, time: float) -> tuple[float, float]:
        times, values = known.get((sender, receiver), ([], []))
        k = bisect_right(times, time)
        return values[k - 1] if k else others(sender, receiver, time)

    return of
