"""Work spread over threads, each of them with one intra-op thread of torch.

A map is a function ``(f, k) → [f(0), …, f(k − 1)]``. What f(i) computes does not depend on who
computes it, so results are the same to the byte with any number of threads.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar
from weakref import finalize

# Seconds after which Python makes a busy thread let a waiting one in. By default 5 ms, longer
# than a worker's whole step.
SWITCH = 1e-4

T = TypeVar("T")
Map = Callable[[Callable[[int], T], int], list[T]]


def in_order(f: Callable[[int], T], k: int) -> list[T]:
    """One after another, on the thread that asks."""
    return [f(i) for i in range(k)]


class _Channel:
    """Things that one thread hands to another, which looks for them a while before it sleeps: a
    sleeping thread may take longer to wake than the work that it is woken for.
    """

    def __init__(self) -> None:
        self._things: SimpleQueue = SimpleQueue()
        self._put = ctypes.c_int64()
        self._taken = 0

    def put(self, thing: object) -> None:
        self._things.put(thing)
        self._put.value += 1

    def take(self) -> Any:
        from ngo import kernels

        kernels.wait(self._put, self._taken)
        self._taken += 1
        return self._things.get()


def _help(asked: _Channel) -> None:
    """Do work that is asked for, and answer what it raised or None, until there is no more."""
    import torch

    torch.set_num_threads(1)
    while (asked_for := asked.take()) is not None:
        work, answer = asked_for
        try:
            work()
        except BaseException as error:  # of any kind: it is raised where the work was asked for
            answer.put(error)
        else:
            answer.put(None)
        del asked_for, work, answer  # the caller's tensors are not ours to keep


def threads(count: int | None = None) -> Map:
    """A map over ``count`` threads (default: the cores this process may use).

    The thread that asks is one of them; each takes the next i when it has done one.
    """
    from ngo import kernels

    helpers = [_Channel() for _ in range((count or cores()) - 1)]
    if not helpers:
        return in_order
    kernels.available()  # compiled, or said not to be, once: helpers would all ask at the same time
    sys.setswitchinterval(SWITCH)
    for helper in helpers:
        Thread(target=_help, args=(helper,), daemon=True).start()

    def run(f: Callable[[int], T], k: int) -> list[T]:
        results: list[T] = [None] * k
        turns = iter(range(k))  # safe to share: to take the next of a range is one step

        def work() -> None:
            for i in turns:
                results[i] = f(i)

        answers = []
        for helper in helpers[: max(0, k - 1)]:
            answers.append(_Channel())
            helper.put((work, answers[-1]))
        try:
            work()
        finally:
            errors = [answer.take() for answer in answers]
        for error in filter(None, errors):
            raise error
        return results

    for helper in helpers:
        finalize(run, helper.put, None)
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
