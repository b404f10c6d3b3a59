"""Work spread over threads, each of them with one intra-op thread of torch.

A map is a function ``(f, k) → [f(0), …, f(k − 1)]``. What f(i) computes does not depend on who
computes it, so results are the same to the byte with any number of threads.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

# Seconds after which Python makes a busy thread let a waiting one in. By default 5 ms, longer
# than a worker's whole step.
SWITCH = 1e-4

T = TypeVar("T")
Map = Callable[[Callable[[int], T], int], list[T]]


def in_order(f: Callable[[int], T], k: int) -> list[T]:
    """One after another, on the thread that asks."""
    return [f(i) for i in range(k)]


def threads(count: int | None = None) -> Map:
    """A map over ``count`` threads (default: the cores this process may use).

    The thread that asks is one of them; each takes the next i when it has done one.
    """
    import torch

    helpers = (count or cores()) - 1
    if helpers == 0:
        return in_order
    sys.setswitchinterval(SWITCH)
    pool = ThreadPoolExecutor(helpers, initializer=torch.set_num_threads, initargs=(1,))

    def run(f: Callable[[int], T], k: int) -> list[T]:
        results: list[T] = [None] * k
        turns = iter(range(k))  # safe to share: to take the next of a range is one step

        def work() -> None:
            for i in turns:
                results[i] = f(i)

        others = [pool.submit(work) for _ in range(min(helpers, k - 1))]
        try:
            work()
        finally:
            for other in others:
                other.result()
        return results

    return run


_current: ContextVar[Map] = ContextVar("map", default=in_order)


@contextmanager
def using(spread: Map) -> Iterator[None]:
    """Make ``spread`` the map that :func:`current` gives, until the block ends."""
    token = _current.set(spread)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Map:
    """The map of the block that this code runs in; in order where there is none."""
    return _current.get()


@contextmanager
def one_intra_op_thread() -> Iterator[None]:
    """Keep torch on one thread inside each operation, until the block ends.

    Besides giving the same bytes everywhere, it keeps torch's idle threads from spinning on cores
    that other workers, or other runs on this machine, could use.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS can't say which cores a process may use
        return os.cpu_count() or 1


@cache
def keep_memory() -> None:
    """Have the C library keep the memory that is freed, for the next tensor of that size.

    Every step needs the same tensors as the last. Given back to the system in between, each of
    their pages is zeroed and mapped anew, which can take longer than to compute what they hold.
    Only glibc has these settings; elsewhere this does nothing.
    """
    M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # <malloc.h>
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(M_MMAP_THRESHOLD, 1 << 25)  # the largest that it takes
    mallopt(M_TRIM_THRESHOLD, 1 << 30)
    mallopt(M_TOP_PAD, 1 << 26)
