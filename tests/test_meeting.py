import json
import threading
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from participants import LIMIT, ended_within

from ngo import distributed
from ngo.distributed import _placed
from ngo.meeting import gathered, joined, met, placed, telling
from ngo.processes import Group, Lost, launch
from ngo.registry import UserError


@pytest.mark.parametrize(
    ("gpus", "places", "alone"),
    [
        (["AB", "AB"], [0, 1], True),  # one machine
        (["AB", "AB", "CD", "CD"], [0, 1, 0, 1], True),  # two
        (["A", "B"], [0, 0], True),  # a scheduler gave each one
        (["AB", "AB", "AB"], [0, 1, 0], False),
        (["AB", "AB", "C", "C"], [0, 1, 0, 0], False),  # machines with unequal numbers
        (["A", "A"], [0, 0], False),
        (["A", ""], [0, None], False),
        (["", ""], [None, None], False),
    ],
)
def test_processes_share_gpus_only_where_there_are_too_few(gpus, places, alone):
    assert placed(gpus) == (places, alone)


def gpu(monkeypatch, *uuids):
    """Have torch see GPUs with these ids; the list of those that were set."""
    chosen = []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    monkeypatch.setattr(distributed, "deterministic", lambda: None)
    if uuids:
        monkeypatch.setattr(distributed, "usable", lambda device, place: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(uuids))
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    facts = [SimpleNamespace(uuid=uuid) for uuid in uuids]
    monkeypatch.setattr(torch.cuda, "get_device_properties", facts.__getitem__)
    return chosen


@pytest.mark.parametrize(
    ("theirs", "place", "alone"), [("ab", 1, True), ("a", 1, True), ("c", 0, True), ("", 0, False)]
)
def test_what_the_others_have_decides_too(theirs, place, alone, monkeypatch):
    """Process 2 of three, which sees two GPUs; process 0 has one elsewhere."""
    chosen = gpu(monkeypatch, "a", "b")
    store = dist.HashStore()
    store.set("gpus/0", json.dumps(["elsewhere"]))
    store.set("gpus/1", json.dumps(list(theirs)))
    assert _placed("cuda", store, 2, 3, 10.0) == (f"cuda:{place}", alone)
    assert chosen == [place]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_torch_can_not_use_is_told(monkeypatch, capfd):
    gpu(monkeypatch)
    with pytest.raises(UserError, match="device: torch can't use the GPU: .*; use auto or cpu"):
        _placed("cuda", dist.HashStore(), 0, 1, 10.0)
    assert _placed("auto", dist.HashStore(), 0, 1, 10.0) == ("cpu", False)
    assert "device: torch can't use the GPU" in capfd.readouterr().err


def test_a_slow_process_is_waited_for():
    store, heard = dist.HashStore(), []
    waits = threading.Thread(
        target=lambda: heard.append(gathered(store, 0, 2, "ready", "a")), daemon=True
    )
    waits.start()
    waits.join(0.3)
    assert waits.is_alive()
    assert gathered(store, 1, 2, "ready", "b") == ["a", "b"]
    waits.join(60)
    assert heard == [["a", "b"]]


def test_a_process_that_fails_or_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "host")
    monkeypatch.setenv("MASTER_PORT", "29500")
    store = dist.HashStore()
    with pytest.raises(UserError, match=r"met at host:29500 in 0.1 s: process 1, 2 did not come"):
        gathered(store, 0, 3, "gpus", "", timeout=0.1)
    with pytest.raises(ZeroDivisionError), telling(store, 2):
        raise ZeroDivisionError
    with pytest.raises(UserError, match="process 2 stopped before the first step"):
        gathered(store, 0, 3, "gpus", "")


def connect_after_one_failed():
    store, me, size = met(20.0)
    if me == 0:
        with pytest.raises(Lost):
            Group(dist.HashStore(), 0, 2, backend="gloo", timeout=0.3)
    group = joined(store, me, size, backend="gloo", timeout=20.0)
    got = group.exchange({1 - me: torch.full((1,), me)}, {1 - me: (1,)}, "", torch.int64)
    assert got[1 - me].item() == 1 - me
    store.set("written", "")


def test_processes_connect_though_one_of_them_failed_to_before():
    with ended_within(LIMIT):
        launch(connect_after_one_failed, 2, timeout=20.0, on_failure="stop")
