"""From which random stream each worker draws its initial parameters."""

from __future__ import annotations

from collections.abc import Callable

from ngo.common.registry import Registry

#: The number of a worker → that of its stream (see ``seeding``); None is the stream of all.
INITIALIZATIONS: Registry[Callable[[int], int | None]] = Registry("initialization")

SAME = "same"


def same(worker: int) -> None:
    """All workers start from one draw."""


def by_worker(worker: int) -> int:
    """Each worker starts from its own draw."""
    return worker


INITIALIZATIONS.add(SAME, same, same)
INITIALIZATIONS.add("by_worker", by_worker, by_worker)
