import pytest
import torch
import torch.distributed as dist
from participants import LIMIT, ended_within

from ngo.distributed.meeting import join_group, open_store
from ngo.distributed.process_group import Group, PeerUnreachable, exit_reason
from ngo.distributed.processes import launch


def connect_after_one_failed():
    store, me, size = open_store(20.0)
    if me == 0:
        with pytest.raises(PeerUnreachable):
            Group(dist.HashStore(), 0, 2, backend="gloo", timeout=0.3)
    group = join_group(store, me, size, backend="gloo", timeout=20.0)
    got = group.exchange({1 - me: torch.full((1,), me)}, {1 - me: (1,)}, "rows", torch.int64)
    assert got[1 - me].item() == 1 - me
    assert group.traffic() == {("rows", "models"): 1, ("rows", "bytes"): 8}
    store.set("written", "")


def test_processes_connect_after_a_failed_attempt_of_one():
    with ended_within(LIMIT):
        launch(connect_after_one_failed, 2, timeout=20.0, on_failure="stop")


def test_the_exit_reason_is_that_in_the_store():
    store = dist.HashStore()
    assert exit_reason(store, 1) is None
    store.set("ended/1", "was killed by SIGKILL")
    assert exit_reason(store, 1) == "was killed by SIGKILL"
