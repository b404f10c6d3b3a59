from concurrent.futures import ThreadPoolExecutor

import pytest
import torch.distributed as dist
from participants import meeting_of

from ngo.distributed import meeting
from ngo.distributed.meeting import Group


def called(store, me, on_failure="drop"):
    """The roll call of four processes, as seen by one whose connections are broken."""
    group = Group.__new__(Group)
    group.meeting, group.me = meeting_of(store, me, 4), me
    group.members, group.generation, group.timeout = (0, 1, 2, 3), 0, 20.0
    return *group.roll_call([me], on_failure), group.members


@pytest.mark.parametrize("reason", ["was killed by SIGKILL", "does not answer"])
def test_a_roll_call_agrees_on_members(reason, monkeypatch):
    """Process 3 has exited, or does not live."""
    monkeypatch.setattr(meeting, "DEAD_SECONDS", 0.5)
    store = dist.HashStore()
    if reason != "does not answer":
        store.set("ended/3", reason)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda me: called(store, me), range(3)))
    assert found == [({3: reason}, [[0], [1], [2]], (0, 1, 2))] * 3
