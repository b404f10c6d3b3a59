"""Which GPU each process of a run computes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch

from ngo.common.devices import chosen, deterministic, usable
from ngo.distributed.meeting import Meeting


def choose_device(device: str, meeting: Meeting, timeout: float) -> tuple[str, bool]:
    """The device of this process, and whether every process has a GPU of its own."""
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
    """The GPU of each process, as a position among those that it sees, and whether every process
    has one of its own. A process that sees no GPU gets None.

    ``gpus`` are the hardware ids of the GPUs that each process sees. A process gets the GPU that
    the fewest processes before it have got, so processes of one machine share none unless they
    must.
    """
    taken: Counter[str] = Counter()
    places: list[int | None] = []
    for seen in gpus:
        places.append(min(range(len(seen)), key=lambda k: taken[seen[k]], default=None))
        if seen:
            taken[seen[places[-1]]] += 1
    return places, len(taken) == len(places)
