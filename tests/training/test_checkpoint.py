"""The file of a checkpoint, when one is due, and the signals that ask for the last."""

import hashlib
import io
import os
import pickle
import signal
import time
import zipfile
from unittest.mock import Mock

import pytest
import running
import torch
from cases import cases, refused
from runs import files

from ngo.training import checkpoint
from ngo.training.checkpoint import Checkpoints, Foreign, Refused, Signals, Stopped, read, write
from ngo.training.snapshots import UNREADABLE, load_tensors

TERM, INT = signal.SIGTERM, signal.SIGINT
ODD = {"about": {"lr": [torch.zeros(3)], "run": "a"}, "state": {}}


def test_a_state_is_read_as_it_was_written_and_a_foreign_run_is_named(tmp_path):
    about = {"run": "a", "lr": 0.1, "code": "1"}
    part = torch.arange(10**6)[:4]  # the rest of its memory stays out of the file
    write(tmp_path / "c.pt", about, {"step": 3, "X": part, "rows": [{"part": part}]})
    assert (tmp_path / "c.pt").stat().st_size < 10**4
    found = read(tmp_path / "c.pt", about)
    assert found["step"] == 3
    assert torch.equal(found["X"], torch.arange(4))
    with pytest.raises(Foreign, match=r"it is of the run a, with lr 0.1 and not 0.2"):
        read(tmp_path / "c.pt", {**about, "lr": 0.2, "code": "2"})
    with pytest.raises(Refused, match="it is made with code '1' and not '2'"):
        read(tmp_path / "c.pt", {**about, "code": "2"})
    refused("none.pt' does not exist", read, tmp_path / "none.pt", about)
    write(tmp_path / "c.pt", {"run": "a\nb", "lr": "x" * 10_000}, {})
    with pytest.raises(Foreign, match="^it is of the run of another version, with lr 'xx") as told:
        read(tmp_path / "c.pt", {"run": "a", "lr": 0.1})
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 200


def saved(content, **how):
    file = io.BytesIO()
    torch.save(content, file, **how)
    return file


class Harm:
    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize("content", [Harm(), {"about": {}}, 3, ODD])
def test_no_file_is_trusted(content, tmp_path, monkeypatch):
    """Even with a true checksum: nothing in it is executed, and no run is restored from it."""
    monkeypatch.chdir(tmp_path)
    for data in (saved(content).getvalue(), pickle.dumps(content, protocol=2)):
        (tmp_path / "checkpoint.pt").write_bytes(data + hashlib.sha256(data).digest())
        with pytest.raises(Refused, match="it holds no run"):
            read(tmp_path / "checkpoint.pt", {})
    assert files(tmp_path) == ["checkpoint.pt"]


def test_a_checkpoint_is_due_at_evaluations_and_by_the_clock_and_rare_if_slow(tmp_path):
    state = Mock(return_value={})
    for every, evaluated, times in ((0, False, 0), (0, True, 1), (1e-9, False, 2), (60, False, 2)):
        Checkpoints(tmp_path / "c.pt", {}, every=every).keep(1, 9, evaluated, state)
        assert state.call_count == times
    slow = Mock(side_effect=lambda: time.sleep(0.1) or {})
    checkpoints = Checkpoints(tmp_path / "c.pt", {})
    for step in range(9):
        checkpoints.keep(step, 9, True, slow)
    assert slow.call_count == 1  # the next is due 0.1 / SHARE = 2 s later


def test_a_checkpoint_that_cannot_be_written_stops_no_run(tmp_path):
    (tmp_path / "file").write_text("")
    told = []
    with Signals() as signals:
        checkpoints = Checkpoints(tmp_path / "file/c.pt", {}, 1e-9, told.append, signals=signals)
        for step in range(3):
            checkpoints.keep(step, 9, True, dict)
        os.kill(os.getpid(), TERM)
        with pytest.raises(Stopped, match="stopped at step 3 of 9.* no checkpoint was written"):
            checkpoints.keep(3, 9, True, dict)
    assert len(told) == 1
    assert "can't be written to: File exists; training continues" in told[0]


def test_signals_together_are_one_and_handlers_are_restored(tmp_path):
    before = [signal.getsignal(number) for number in (TERM, INT)]
    with Signals() as signals:
        checkpoints = Checkpoints(tmp_path / "c.pt", {}, signals=signals)
        for number in (INT, TERM, INT):
            os.kill(os.getpid(), number)
        with pytest.raises(Stopped) as stopped:
            checkpoints.keep(1, 9, False, dict)
    assert stopped.value.number == INT
    assert [signal.getsignal(number) for number in (TERM, INT)] == before
    assert read(tmp_path / "c.pt", {}) == {}


def insist(path, first, second):
    checkpoint.TOGETHER = 0
    with Signals():
        os.kill(os.getpid(), first)
        time.sleep(0.01)
        os.kill(os.getpid(), second)
        time.sleep(running.LIMIT)


def test_a_later_second_signal_ends_a_run_at_once(forked, tmp_path):
    process = forked(target=insist, args=(tmp_path / "c.pt", TERM, INT))
    process.start()
    assert running.exit_code(process) == -INT


def compressed(file):
    packed = io.BytesIO()
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for each in whole.infolist():
            out.writestr(each.filename, whole.read(each))
    return packed


@cases(
    "file",
    compressed(saved({"X": torch.zeros(10**6)})),
    saved({"X": torch.zeros(1).expand(10**6, 10**6)}),
    saved(Harm()),
    saved(Harm(), _use_new_zipfile_serialization=False),
    io.BytesIO(pickle.dumps(Harm())),
    io.BytesIO(b"PK\3\4"),
    io.BytesIO(b""),
)
def test_a_strangers_file_neither_runs_nor_grows(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UNREADABLE):
        load_tensors(file)
    assert not (tmp_path / "ran").exists()
