import json
from types import SimpleNamespace

import pytest
import torch
from participants import meeting_of, store_here

from ngo.common.registry import UserError
from ngo.distributed import placement
from ngo.distributed.placement import assign_gpus, choose_device, shares


def test_every_worker_is_in_one_process():
    for workers, processes in [(5, 2), (4, 4), (10, 3)]:
        own = shares(workers, processes)
        assert [i for part in own for i in part] == list(range(workers))
        assert max(map(len, own)) - min(map(len, own)) <= 1


@pytest.mark.parametrize(
    ("gpus", "places", "exclusive"),
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
def test_processes_share_gpus_only_where_there_are_too_few(gpus, places, exclusive):
    assert assign_gpus(gpus) == (places, exclusive)


def fake_gpus(monkeypatch, *uuids):
    """Have torch see GPUs with these ids; the list of those that were set."""
    chosen = []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    monkeypatch.setattr(placement, "deterministic", lambda: None)
    if uuids:
        monkeypatch.setattr(placement, "usable", lambda device, place: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(uuids))
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    facts = [SimpleNamespace(uuid=uuid) for uuid in uuids]
    monkeypatch.setattr(torch.cuda, "get_device_properties", facts.__getitem__)
    return chosen


@pytest.mark.parametrize(
    ("theirs", "place", "exclusive"),
    [("ab", 1, True), ("a", 1, True), ("c", 0, True), ("", 0, False)],
)
def test_the_gpus_of_other_processes_decide_too(theirs, place, exclusive, monkeypatch):
    """For process 2 of three, which sees two GPUs; process 0 has one elsewhere."""
    chosen = fake_gpus(monkeypatch, "a", "b")
    store = store_here()
    store.set("gpus/0", json.dumps(["elsewhere"]))
    store.set("gpus/1", json.dumps(list(theirs)))
    assert choose_device("cuda", meeting_of(store, 2, 3), 10.0) == (f"cuda:{place}", exclusive)
    assert chosen == [place]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_torch_can_not_use_is_reported(monkeypatch, caplog):
    fake_gpus(monkeypatch)
    with pytest.raises(UserError, match="device: torch can't use the GPU: .*; use auto or cpu"):
        choose_device("cuda", meeting_of(store_here(), 0, 1), 10.0)
    assert choose_device("auto", meeting_of(store_here(), 0, 1), 10.0) == ("cpu", False)
    assert "device: torch can't use the GPU" in caplog.text
