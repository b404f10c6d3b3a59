"""The workers of each process of a distributed run, and the GPU on which it computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import torch

from ngo.common.devices import chosen, deterministic, usable
from ngo.distributed.meeting import Meeting


def shares(workers: int, processes: int) -> list[range]:
    """The workers of each process: consecutive numbers, as evenly as possible."""
    return [
        range(*ends) for ends in pairwise(workers * k // processes for k in range(processes + 1))
    ]


def choose_device(device: str, meeting: Meeting, timeout: float) -> tuple[str, bool]:
    """The device of this process, and whether no two processes share a GPU or lack one."""
    gpus: list[str] = []
    if chosen(device) != "cpu" and usable(device, "cuda"):
        count = torch.cuda.device_count()
        gpus = [str(torch.cuda.get_device_properties(k).uuid) for k in range(count)]
    published = meeting.gather("gpus", gpus, timeout)
    seen = [list(map(str, ids)) if isinstance(ids, list) else [] for ids in published]
    places, exclusive = assign_gpus(seen)
    if not gpus:
        return "cpu", False
    deterministic()
    torch.cuda.set_device(places[meeting.me])
    return f"cuda:{places[meeting.me]}", exclusive


def assign_gpus(gpus: Sequence[Sequence[str]]) -> tuple[list[int | None], bool]:
    """The GPU of each process, and whether no two processes share a GPU or lack one.

    ``gpus`` are the hardware ids of the GPUs that each process sees. The GPU of a process is a
    position in its ids, and None for a process that sees none. It is the GPU that the fewest
    earlier processes have. So processes on one machine share a GPU only if there are too few.
    """
    taken: Counter[str] = Counter()
    places: list[int | None] = []
    for seen in gpus:
        places.append(min(range(len(seen)), key=lambda k: taken[seen[k]], default=None))
        if seen:
            taken[seen[places[-1]]] += 1
    return places, len(taken) == len(places)
