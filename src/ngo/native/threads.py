"""Calls of C functions, and threads that share work, each with one of torch's threads.

A map is a function ``(f, k) → [f(0), …, f(k − 1)]``. f(i) must not depend on the thread that
computes it; then results are the same to the byte for any number of threads.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar
from weakref import finalize

from ngo.common.lazy import torch
from ngo.native.build import library

# Seconds after which Python makes a busy thread release the interpreter lock to a waiting one. The
# default, 5 ms, is longer than a worker's whole training step.
SWITCH_INTERVAL = 1e-4

T = TypeVar("T")


POINTER, SIZE, DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
NUMBERS = {int: SIZE, float: DOUBLE}


def call(name: str, *arguments: Any, result: type | None = None) -> Any:
    """The result of a C function of this library, by default none; the library must be available.

    A tensor or an array goes as the address of its data, an int as an int64, a float as a double,
    and None as a null pointer; values of ctypes go as they are. The interpreter lock is released
    meanwhile, so that threads run in parallel.
    """
    compiled = getattr(library(), name)
    compiled.restype = result
    return compiled(*map(_argument, arguments))


def _argument(value: Any) -> Any:
    if type(value) in NUMBERS:
        return NUMBERS[type(value)](value)
    if hasattr(value, "data_ptr"):
        return POINTER(value.data_ptr())
    return getattr(value, "ctypes", value)  # an array's address


@cache
def constant(name: str) -> int:
    """The library's constant ``name``, of the C type int64_t."""
    return ctypes.c_int64.in_dll(library(), name).value  # type: ignore[arg-type]


def check_tensors(
    shape: tuple[int, ...], dtype: torch.dtype | None = None, **tensors: torch.Tensor
) -> None:
    """Raise ValueError unless these are contiguous CPU tensors of this shape and type (float32)."""
    dtype = dtype or torch.float32
    for name, x in tensors.items():
        if x.shape != shape or x.dtype != dtype or not (x.is_cpu and x.is_contiguous()):
            raise ValueError(
                f"{name} must be a contiguous {dtype} {list(shape)} on the CPU; it is a "
                f"{'' if x.is_contiguous() else 'strided '}{x.dtype} {list(x.shape)} on {x.device}"
            )


#: A map.
Map = Callable[[Callable[[int], Any], int], list[Any]]


def in_order(f: Callable[[int], T], k: int) -> list[T]:
    """A map that runs in the calling thread."""
    return [f(i) for i in range(k)]


class _Channel:
    """A queue from one thread to another, whose reader spins for a while before it sleeps.

    Waking a sleeping thread can take longer than the work that it is woken for. Compiled code
    spins, for a few tenths of a millisecond at most.
    """

    def __init__(self) -> None:
        self._items: SimpleQueue = SimpleQueue()
        self._put = ctypes.c_int64()
        self._taken = 0

    def put(self, item: object) -> None:
        self._items.put(item)
        self._put.value += 1

    def take(self) -> Any:
        if library() is not None:
            call("ngo_wait", ctypes.byref(self._put), self._taken)
        self._taken += 1
        return self._items.get()


def _serve(requests: _Channel) -> None:
    """Do the requested work until the request is None; answer with its exception, or None."""
    torch.set_num_threads(1)
    while (request := requests.take()) is not None:
        work, answer = request
        try:
            work()
        except BaseException as error:  # of any kind: the calling thread raises it
            answer.put(error)
        else:
            answer.put(None)
        del request, work, answer  # a reference would keep the caller's tensors alive


def threads(count: int | None = None) -> Map:
    """A map over ``count`` threads (default: one for each core available to this process).

    The calling thread is one of them. Each thread takes the next i when it has finished one.
    ``quick_switching`` makes it faster.
    """
    helpers = [_Channel() for _ in range((count or cores()) - 1)]
    if not helpers:
        return in_order
    library()  # compiles now, once, rather than in all helpers at the same time
    for helper in helpers:
        Thread(target=_serve, args=(helper,), daemon=True).start()

    def run(f: Callable[[int], T], k: int) -> list[T]:
        results: list[T] = [None] * k
        indices = iter(range(k))  # shared without a lock: advancing a range iterator is atomic

        def work() -> None:
            for i in indices:
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


@contextmanager
def one_intra_op_thread() -> Iterator[None]:
    """Limit torch to one thread inside each operation, until the block ends.

    Results are then the same on any number of cores, and torch's idle threads do not spin on cores
    that other workers or other runs could use.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def cores() -> int:
    """The number of cores available to this process."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS has no CPU affinity
        return os.cpu_count() or 1


def quick_switching() -> None:
    """Shorten Python's thread switch interval, for the whole process, to SWITCH_INTERVAL."""
    sys.setswitchinterval(SWITCH_INTERVAL)


# Elements for each thread. With fewer, the work would end before another thread wakes.
SHARE = 1 << 17


def fits(*matrices: torch.Tensor) -> bool:
    """Whether there is compiled code, and it takes these: contiguous float32 on a CPU."""
    plain = (x.is_cpu and x.dtype == torch.float32 and x.is_contiguous() for x in matrices)
    return all(plain) and library() is not None


def share(name: str, *arguments: Any, elements: int, work: int, spread: Map) -> None:
    """Call a C function in each thread that ``elements`` need, at least SHARE for each.

    After the ``arguments`` (see ``call``) it gets the address of an int64, initially 0, that
    counts what threads have claimed, and of so many floats (``work``) of the thread's own. It
    returns when all is claimed.
    """
    taken, claimed = ctypes.c_int64(), []

    def part(_: int) -> None:
        if not claimed:
            call(name, *arguments, ctypes.byref(taken), torch.empty(work))
            claimed.append(True)

    spread(part, -(-elements // SHARE))
