"""How the processes of one run find each other, and what they agree on before its first step.

What each says to all goes through a store, which is there before any connection between them.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import torch.distributed as dist

from ngo.processes import LOOK, MISTAKE, Group, Lost, ending
from ngo.registry import UserError

ENVIRONMENT = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def met(timeout: float) -> tuple[dist.Store, int, int]:
    """The store that :data:`ENVIRONMENT` names, as torchrun and :func:`ngo.processes.launch` set
    it; which process this is, and of how many.
    """
    absent = [name for name in ENVIRONMENT if name not in os.environ]
    if absent:
        raise UserError(
            f"distributed: {', '.join(absent)} not set; start it with torchrun, or let "
            f"--processes N start N processes on this machine."
        )
    try:
        return next(dist.rendezvous("env://", timeout=timedelta(seconds=timeout)))
    except (RuntimeError, ValueError) as error:
        raise _apart(timeout, str(error).splitlines()[0]) from None


def gathered(
    store: dist.Store, me: int, size: int, name: str, mine: str, timeout: float = math.inf
) -> list[str]:
    """What each process says under ``name``, this one ``mine``, as soon as all have said it.

    A UserError if one ended before, or has not said it within ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    said = [f"{name}/{q}" for q in range(size)]
    try:
        store.set(said[me], mine)
        while not store.check(said):
            for q in range(size):
                if how := ending(store, q):
                    raise UserError(f"distributed: process {q} {how} before the first step.")
            if time.monotonic() > deadline:
                absent = [str(q) for q in range(size) if not store.check([said[q]])]
                raise _apart(timeout, f"process {', '.join(absent)} did not come")
            time.sleep(LOOK)
        return [store.get(key).decode() for key in said]
    except RuntimeError:
        raise UserError(
            f"distributed: process {me} stops before the first step: the store that the processes "
            f"meet in is gone."
        ) from None


@contextmanager
def telling(store: dist.Store, me: int) -> Iterator[None]:
    """Tell those that wait in :func:`gathered` if this process fails in the block."""
    try:
        yield
    except Exception as error:
        if isinstance(error, UserError):
            store.compare_set(MISTAKE, "", str(error))  # before the others end for this one's end
        store.set(f"ended/{me}", "stopped")
        raise


def joined(store: dist.Store, me: int, size: int, *, backend: str, timeout: float) -> Group:
    """The group of all processes; a UserError if they don't connect within ``timeout`` seconds."""
    try:
        return Group(store, me, size, backend=backend, timeout=timeout)
    except (RuntimeError, Lost) as error:
        raise _apart(timeout, str(error).splitlines()[0]) from None


def placed(gpus: Sequence[Sequence[str]]) -> tuple[list[int | None], bool]:
    """Which of the GPUs that it sees each process takes, by position (None where it sees none), and
    whether every process then has one of its own.

    ``gpus`` are the ids of those that each process sees. It takes one that the fewest before it
    have taken: processes that see the same GPUs, as on one machine, share none without need.
    """
    taken: Counter[str] = Counter()
    places: list[int | None] = []
    for seen in gpus:
        places.append(min(range(len(seen)), key=lambda k: taken[seen[k]], default=None))
        if seen:
            taken[seen[places[-1]]] += 1
    return places, len(taken) == len(places)


def _apart(timeout: float, reason: str) -> UserError:
    where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    return UserError(f"distributed: not all processes met at {where} in {timeout:g} s: {reason}")
