"""The memory that a process may use, and how much of it the content of a file may take."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from verdicts.registry import UserError, shown

GROUPS = Path("/sys/fs/cgroup")  # where Linux mounts the limits of control groups
GROUPS_OF_PROCESS = Path("/proc/self/cgroup")


def memory_limit() -> int:
    """Bytes: the machine's memory, or a lower limit of a control group or of the process.

    A container's or a cluster job's limit is that of its control group.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *_group_limits()]
    process, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min([*limits, process] if process != resource.RLIM_INFINITY else limits)


def in_words(count: float) -> str:
    """``7.5 GB`` or ``12 MB``."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"


def _group_limits() -> Iterator[int]:
    """The limits of this process's control groups and of those around them, versions 1 and 2."""
    try:
        lines = GROUPS_OF_PROCESS.read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds in ("", "memory"):
            name = "memory.limit_in_bytes" if kinds else "memory.max"
            group = Path(path.lstrip("/"))
            for around in (group, *group.parents):
                with suppress(OSError, ValueError):  # no such group in this container, or "max"
                    yield int((GROUPS / kinds / around / name).read_text(encoding="ascii"))


# A file's content may have this many bytes in memory, or RATIO times its size on the disk.
# Compressed arrays of real data are larger by a factor of 2 to 50.
ALWAYS = 2**30
RATIO = 200


def check_declared(path: Path, key: str, size: int) -> None:
    """Raise a UserError, under ``key``, if the content of a file would take too much memory.

    ``size`` is the size in bytes that the file declares. It may be ``ALWAYS``, or ``RATIO`` times
    the size of the file, and at most the machine's memory.
    """
    held = os.stat(path).st_size
    allowed = min(max(ALWAYS, RATIO * held), memory_limit())
    if size > allowed:
        fault = f"has {held:,} bytes and declares a content of {shown(size)}"
        raise UserError(f"{key}: {str(path)!r} {fault}; at most {allowed} are allowed.")
