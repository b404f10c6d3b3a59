"""How the processes of a run find each other before the first step.

They exchange strings through a store, which exists before any connection between them.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch.distributed as dist

from ngo.common.registry import UserError
from ngo.distributed.process_group import POLL_SECONDS, Group, PeerUnreachable, exit_reason
from ngo.distributed.processes import MISTAKE

# The variables that name the store, this process and the number of processes. torchrun and
# ``processes.launch`` set them.
ENVIRONMENT = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def open_store(timeout: float) -> tuple[dist.Store, int, int]:
    """The store of the run, the number of this process, and the number of processes."""
    absent = [name for name in ENVIRONMENT if name not in os.environ]
    if absent:
        raise UserError(
            f"distributed: {', '.join(absent)} not set; start it with torchrun, or let "
            f"--processes N start N processes on this machine."
        )
    try:
        return next(dist.rendezvous("env://", timeout=timedelta(seconds=timeout)))
    except (RuntimeError, ValueError) as error:
        raise _not_met(timeout, str(error).splitlines()[0]) from None


def gather(
    store: dist.Store, me: int, size: int, name: str, value: str, timeout: float = math.inf
) -> list[str]:
    """The values of all processes for ``name``; ``value`` is that of this process.

    Waits until all have published theirs. Raises a UserError if a process exits before, or if
    values are missing after ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    keys = [f"{name}/{q}" for q in range(size)]
    try:
        store.set(keys[me], value)
        while not store.check(keys):
            for q in range(size):
                if reason := exit_reason(store, q):
                    raise UserError(f"distributed: process {q} {reason} before the first step.")
            if time.monotonic() > deadline:
                absent = [str(q) for q in range(size) if not store.check([keys[q]])]
                raise _not_met(timeout, f"process {', '.join(absent)} did not come")
            time.sleep(POLL_SECONDS)
        return [store.get(key).decode() for key in keys]
    except RuntimeError:
        raise UserError(
            f"distributed: process {me} stops before the first step: the store of the processes "
            f"is unreachable."
        ) from None


@contextmanager
def failure_published(store: dist.Store, me: int) -> Iterator[None]:
    """Publish a failure of the block, so that processes in ``gather`` stop waiting."""
    try:
        yield
    except Exception as error:
        if isinstance(error, UserError):
            # Before the other processes fail because of this one.
            store.compare_set(MISTAKE, "", str(error))
        store.set(f"ended/{me}", "stopped")
        raise


def join_group(store: dist.Store, me: int, size: int, *, backend: str, timeout: float) -> Group:
    """Connect to the group of all processes; a UserError after ``timeout`` seconds."""
    try:
        return Group(store, me, size, backend=backend, timeout=timeout)
    except (RuntimeError, PeerUnreachable) as error:
        raise _not_met(timeout, str(error).splitlines()[0]) from None


def _not_met(timeout: float, reason: str) -> UserError:
    address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    return UserError(f"distributed: not all processes met at {address} in {timeout:g} s: {reason}")
