"""How times are measured: ways of doing the same work take turns.

Each way runs in its own process, since idle threads of one way would slow down the next. Times are
medians over the turns. A ratio is the median of the ratios within each round, because the machine's
speed changes less within a round than between rounds.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection

from ngo.common.registry import UserError
from ngo.native import pool

LOG = logging.getLogger("ngo")

# Seconds at the start of a turn that do not count: threads that were idle take about as long to
# reach their full speed.
WARM_UP = 0.5

# Does the work once, and returns the seconds that a part of it took (0 where no part is measured).
Step = Callable[[], float]


@dataclass(frozen=True)
class Turns:
    """The measured times."""

    #: For each way, by round: the seconds of a step, and those of the measured part of it.
    rounds: dict[str, list[tuple[float, float]]]

    def seconds(self, way: str) -> float:
        """The median time of a step."""
        return statistics.median(whole for whole, _ in self.rounds[way])

    def ratio(self, way: str, other: str) -> float:
        """The median over the rounds of one way's time relative to the other's."""
        rounds = zip(self.rounds[way], self.rounds[other], strict=True)
        return statistics.median(mine / theirs for (mine, _), (theirs, _) in rounds)

    def share(self, way: str) -> float:
        """The median over the rounds of the measured part's share in a step."""
        return statistics.median(part / whole for whole, part in self.rounds[way])


def turns(
    ways: Mapping[str, Callable[[], Step]],
    repeats: int,
    name: str,
    *,
    device: str = "cpu",
    least: float = 0.3,
) -> Turns:
    """Measure each of ``ways`` in ``repeats`` rounds.

    The values of ``ways`` prepare the work; they are called in new processes, and must therefore
    be picklable. A turn lasts ``least`` seconds, or one step, after WARM_UP seconds. Progress is
    logged under ``name``.
    """
    context = multiprocessing.get_context("spawn")
    ends, taken = {}, {way: [] for way in ways}
    try:
        for way, prepare in ways.items():
            ours, theirs = context.Pipe()
            child = context.Process(target=_serve, args=(theirs, prepare, device), daemon=True)
            child.start()
            theirs.close()
            ends[way] = ours, child
        for way, (end, _) in ends.items():
            LOG.info("%s: start of %s", name, way)
            end.recv()
        for turn in range(repeats):
            LOG.info("%s: turn %d of %d", name, turn + 1, repeats)
            for way, (end, _) in ends.items():
                end.send(least)
                taken[way].append(end.recv())
    except EOFError:
        raise UserError(f"bench: {way!r} failed; its traceback is above.") from None
    finally:
        for end, child in ends.values():
            child.terminate()
            child.join()
            end.close()
    return Turns(taken)


def synchronize(device: str) -> None:
    """Wait until a GPU has finished its work; a no-op for a CPU."""
    if device != "cpu":
        import torch

        torch.cuda.synchronize(device)


def _serve(end: Connection, prepare: Callable[[], Step], device: str) -> None:
    """Take turns when asked to; the process is terminated from outside."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent process
    pool.keep_memory()
    pool.quick_switching()
    step = prepare()
    step()
    end.send(None)
    while True:
        least = end.recv()
        _repeat(step, WARM_UP, device)
        end.send(_repeat(step, least, device))


def _repeat(step: Step, least: float, device: str) -> tuple[float, float]:
    """The mean seconds of a step and of its measured part, over at least ``least`` seconds."""
    count, part, start = 0, 0.0, time.perf_counter()
    while count == 0 or time.perf_counter() - start < least:
        part += step()
        count += 1
    synchronize(device)
    return (time.perf_counter() - start) / count, part / count
