"""The memory that a process may use."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")  # where Linux mounts the limits of control groups
OWN = Path("/proc/self/cgroup")


def memory_limit() -> int:
    """Bytes: the machine's memory, or a lower limit of a control group or of the process.

    A container's or a cluster job's limit is that of its control group.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *_group_limits()]
    own, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min([*limits, own] if own != resource.RLIM_INFINITY else limits)


def in_words(count: float) -> str:
    """``7.5 GB`` or ``12 MB``."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"


def _group_limits() -> Iterator[int]:
    """The limits of this process's control groups and of those around them, versions 1 and 2."""
    try:
        lines = OWN.read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds in ("", "memory"):
            name = "memory.limit_in_bytes" if kinds else "memory.max"
            group = Path(path.lstrip("/"))
            for each in (group, *group.parents):
                try:
                    yield int((GROUPS / kinds / each / name).read_text(encoding="ascii"))
                except (OSError, ValueError):  # no such group in this container, or "max"
                    continue
