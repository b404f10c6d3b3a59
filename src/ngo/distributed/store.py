"""The store through which the processes of a run find each other: short strings by key.

The network is not trusted. Strings are never unpickled; one that is too long is refused; and an
operation that gets no answer ends after a time limit, which torch does not have.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import TypeVar

import torch.distributed as dist

from ngo.common.registry import UserError, in_a_line, shown
from ngo.distributed.environment import Place

T = TypeVar("T")

# The longest string, in bytes. The longest of ours has some kilobytes.
LONGEST = 2**18

# Seconds that the search for an unreachable host's name may take.
NAME_SECONDS = 2.0


class Store:
    """The operations of a torch store that the processes use. Each raises a UserError if the
    store does not answer within the timeout, or has a string that is too long.
    """

    #: The store of torch, for its own use.
    inner: dist.Store

    def __init__(self, inner: dist.Store, timeout: float) -> None:
        self.inner, self.timeout = inner, timeout

    def set(self, key: str, value: str) -> None:
        """Set the string of a key."""
        self._answer(self.inner.set, key, value)

    def get(self, key: str) -> str:
        """The string of a key that is set."""
        return self._text(key, self._answer(self.inner.get, key))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are set."""
        return self._answer(self.inner.check, list(keys))

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, and return the sum."""
        return self._answer(self.inner.add, key, amount)

    def compare_set(self, key: str, expected: str, value: str) -> str:
        """Set the string of a key if it is ``expected`` (empty: not set); return the new one."""
        return self._text(key, self._answer(self.inner.compare_set, key, expected, value))

    def _answer(self, operation: Callable[..., T], *arguments: object) -> T:
        try:
            return within(self.timeout, operation, *arguments)
        except (RuntimeError, TimeoutError):
            raise UserError(
                "distributed: the store of the processes is unreachable; the process that held it "
                "has exited, or does not answer."
            ) from None

    def _text(self, key: str, value: bytes) -> str:
        if len(value) > LONGEST:
            raise UserError(f"distributed: {key!r} in the store has {len(value)} bytes: too many.")
        return value.decode(errors="replace")


def connect(place: Place, timeout: float) -> Store:
    """Connect to the store, or open it; a UserError after ``timeout`` seconds."""

    def not_met(reason: str) -> UserError:
        return UserError(
            f"distributed: process {place.me} found no store of a run at "
            f"{shown(place.address)[1:-1]}:{place.port} in {timeout:g} s: {reason}."
        )

    try:
        inner = within(
            timeout,
            lambda: dist.TCPStore(
                place.address,
                place.port,
                is_master=place.holds_store,
                wait_for_workers=False,
                timeout=timedelta(seconds=timeout),
            ),
        )
    except TimeoutError:
        raise not_met(_silence(place)) from None
    except (RuntimeError, ValueError) as error:
        if "EADDRINUSE" in str(error):
            raise UserError(
                f"MASTER_PORT: {place.port} is in use, by another process 0 or another program; "
                f"choose another port."
            ) from None
        raise not_met(in_a_line(error)) from None
    return Store(inner, timeout)


def within(seconds: float, work: Callable[..., T], *arguments: object) -> T:
    """What ``work`` returns or raises; a TimeoutError if it takes longer.

    Late work goes on in a thread that does not keep the process from exiting.
    """
    future: Future[T] = Future()

    def call() -> None:
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return future.result(seconds)


def _silence(place: Place) -> str:
    """Why nothing answered, in words."""
    try:
        within(NAME_SECONDS, socket.getaddrinfo, place.address, place.port)
    except (OSError, UnicodeError) as error:
        return f"MASTER_ADDR has no known address ({in_a_line(error)})"
    return "process 0 is not there, or another program has the port"
