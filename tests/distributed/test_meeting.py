import threading

import pytest
import torch.distributed as dist

from ngo.common.registry import UserError
from ngo.distributed.meeting import failure_published, gather, open_store


def test_a_slow_process_is_waited_for():
    store, heard = dist.HashStore(), []
    waits = threading.Thread(
        target=lambda: heard.append(gather(store, 0, 2, "ready", "a")), daemon=True
    )
    waits.start()
    waits.join(0.3)
    assert waits.is_alive()
    assert gather(store, 1, 2, "ready", "b") == ["a", "b"]
    waits.join(60)
    assert heard == [["a", "b"]]


def test_a_process_that_fails_or_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "host")
    monkeypatch.setenv("MASTER_PORT", "29500")
    store = dist.HashStore()
    with pytest.raises(UserError, match=r"met at host:29500 in 0.1 s: process 1, 2 did not come"):
        gather(store, 0, 3, "gpus", "", timeout=0.1)
    with pytest.raises(ZeroDivisionError), failure_published(store, 2):
        raise ZeroDivisionError
    with pytest.raises(UserError, match="process 2 stopped before the first step"):
        gather(store, 0, 3, "gpus", "")


def test_missing_variables_are_named(monkeypatch):
    for name in ("WORLD_SIZE", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("MASTER_PORT", "29500")
    with pytest.raises(UserError, match="distributed: WORLD_SIZE, MASTER_ADDR not set; start it"):
        open_store(1.0)
