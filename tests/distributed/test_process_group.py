from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from participants import LIMIT, ended_within, store_here

from ngo.distributed.meeting import open_meeting
from ngo.distributed.process_group import Group, PeerUnreachable, exit_reason
from ngo.distributed.processes import launch


def connect_after_one_failed():
    meeting = open_meeting(20.0)
    me = meeting.me
    if me == 0:
        with pytest.raises(PeerUnreachable):
            Group(store_here(), 0, 2, backend="gloo", timeout=0.3)
    group = meeting.join_group(backend="gloo", timeout=20.0)
    got = group.exchange({1 - me: torch.full((1,), me)}, {1 - me: (1,)}, "rows", torch.int64)
    assert got[1 - me].item() == 1 - me
    assert group.traffic() == {("rows", "models"): 1, ("rows", "bytes"): 8}
    meeting.store.set("written", "")


def test_processes_connect_after_a_failed_attempt_of_one():
    with ended_within(LIMIT):
        launch(connect_after_one_failed, 2, timeout=20.0, on_failure="stop")


def test_the_exit_reason_is_that_in_the_store():
    store = store_here()
    assert exit_reason(store, 1) is None
    store.set("ended/1", "was killed by SIGKILL")
    assert exit_reason(store, 1) == "was killed by SIGKILL"


def test_a_roll_call_agrees_on_the_step_and_the_exchanges_of_the_most_advanced():
    """Process 3 is lost; process 1 failed before its last exchange began."""
    store, done = store_here(), {0: (9, 4), 1: (10, 4), 2: (10, 5)}

    def call(me):
        group = Group.__new__(Group)
        group.store, group.me, group.members, group.generation = store, me, (0, 1, 2, 3), 0
        removed = group.roll_call(*done[me], patience=20.0)
        return removed, group.members, group.resume, group.exchanges

    store.set("ended/3", "was killed by SIGKILL")
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(call, done))
    assert found == [({3: "was killed by SIGKILL"}, (0, 1, 2), 10, 5)] * 3
