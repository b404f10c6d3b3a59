"""The place of a process in a distributed run, read from environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ngo.common.fields import Field, checked, within
from ngo.common.registry import UserError, shown

# The variables that name the store, this process and the number of processes. torchrun and
# ``processes.launch`` set them.
VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

# More processes than this are refused.
MOST_PROCESSES = 1024


@dataclass(frozen=True)
class Place:
    """The number of a process, the number of processes, and the address of their store."""

    me: int
    size: int
    address: str
    port: int
    #: How many of the processes run on this machine.
    local: int
    #: Whether this process holds the store. Otherwise its starter does, or process 0.
    holds_store: bool


def read_place() -> Place:
    """The place that the environment gives this process; a UserError for a wrong variable."""
    if absent := [name for name in VARIABLES if not os.environ.get(name)]:
        raise UserError(
            f"distributed: {', '.join(absent)} not set; start it with torchrun, or let "
            f"--processes N start N processes on this machine."
        )
    size = _whole("WORLD_SIZE", 1, MOST_PROCESSES)
    me = _whole("RANK", 0, size - 1)
    started = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return Place(
        me,
        size,
        os.environ["MASTER_ADDR"],
        _whole("MASTER_PORT", 1, 65_535),
        local=_whole("LOCAL_WORLD_SIZE", 1, size) if "LOCAL_WORLD_SIZE" in os.environ else 1,
        holds_store=me == 0 and not started,
    )


def _whole(name: str, low: int, high: int) -> int:
    text = os.environ[name]
    field = Field(int, name, within(low, high))
    try:
        return checked(name, int(text), field)
    except ValueError:
        raise UserError(
            f"{name}: {shown(text)} is not a whole number; it must be {field.range}."
        ) from None
