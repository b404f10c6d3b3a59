"""What a folder holds already: another run is safe there, and the same one is not done twice."""

import json
import re
import threading
import time

import numpy as np
import pytest
from test_checkpoint import files, interrupted, left, run, tiny
from test_cli import SMALL, ngo

from ngo import training
from ngo.files import try_hold
from ngo.registry import UserError

OTHER = {"lr": 0.01}
PARTS = [np.arange(k, 6400, 3) for k in range(3)]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(spec, folder, **how):
    """The line that refuses a run, which leaves the folder as it was."""
    before = contents(folder)
    with pytest.raises(UserError) as told:
        run(spec, folder, progress=pytest.fail, **how)
    assert contents(folder) == before
    return str(told.value)


@pytest.mark.parametrize(
    ("change", "how", "named"),
    [
        (OTHER, {}, "lr 0.05 and not 0.01"),
        ({"protocol": "gossip"}, {}, "protocol 'ngo' and not 'gossip'"),
        ({}, {"parts": PARTS}, "parts '[0-9a-f]{16}' and not '[0-9a-f]{16}'"),
        ({}, {"snapshots": [5]}, r"snapshots \['2', 'final'\] and not \['5'\]"),
    ],
)
def test_another_finished_run_is_kept(change, how, named, tmp_path):
    first = tiny()
    run(first, tmp_path / "run", snapshots=[2, "final"])
    line = refused(tiny(**change), tmp_path / "run", **how)
    assert re.fullmatch(
        f"out: '.*/run' holds the finished run {first.id}, with {named}; choose another folder, or "
        f"train over it with --overwrite.",
        line,
    )
    assert run(tiny(**change), tmp_path / "run", overwrite=True, **how) == []
    run(tiny(**change), tmp_path / "alone", **how)
    assert left(tmp_path / "run") == left(tmp_path / "alone")  # with no models of the first
    assert files(tmp_path / "run") == files(tmp_path / "alone")


@pytest.mark.parametrize("asked", [["final", 2], [2], []])
def test_the_same_run_is_trained_once(asked, tmp_path):
    """Also where fewer models are asked for than it kept."""
    how = {"snapshots": [2, "final"]}
    last = training.run(tiny(), tmp_path, tmp_path, **how)
    before, told = contents(tmp_path), []
    again = training.run(
        tiny(), tmp_path, tmp_path, snapshots=asked, tell=told.append, progress=pytest.fail
    )
    assert told == [f"already finished in {str(tmp_path)!r}; --overwrite trains it again"]
    assert contents(tmp_path) == before
    assert repr(again) == repr(last)  # of which some are NaN
    steps = []
    assert run(tiny(), tmp_path, overwrite=True, progress=steps.append, **how) == []
    assert steps == list(range(1, 31))


def test_a_finished_run_by_other_code_says_so(tmp_path, monkeypatch):
    run(tiny(), tmp_path)
    code = training.CODE
    monkeypatch.setattr(training, "CODE", "new")
    (line,) = run(tiny(), tmp_path, progress=pytest.fail)
    assert re.fullmatch(
        f"already finished in '.*', made with code '{code}' and not 'new'; --overwrite trains it "
        f"again",
        line,
    )


def test_a_run_whose_files_are_not_all_there_is_trained(tmp_path):
    run(tiny(), tmp_path, snapshots=["final"])
    whole = left(tmp_path)
    for lost in ("metrics.parquet", "models.pt"):
        (tmp_path / lost).unlink()
        assert run(tiny(), tmp_path, snapshots=["final"]) == []
        assert left(tmp_path) == whole


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"id": "a", "spec": {}}', '"ä"'])
def test_a_damaged_record_is_refused(content, tmp_path):
    run(tiny(), tmp_path)
    (tmp_path / "run.json").write_text(content, encoding="latin-1")
    line = refused(tiny(), tmp_path)
    assert re.fullmatch("out: '.*run.json' is damaged, or the record of another version; .*", line)
    run(tiny(), tmp_path, overwrite=True)
    assert json.loads((tmp_path / "run.json").read_text())["id"] == tiny().id


def test_overwriting_goes_on_from_its_checkpoint(tmp_path):
    """What is there stays until the end, and without the word it is refused all along."""
    run(tiny(), tmp_path)
    before = contents(tmp_path)
    other = tiny(**OTHER)
    interrupted(other, tmp_path, overwrite=True)
    assert before.items() <= contents(tmp_path).items()
    assert "holds the finished run" in refused(other, tmp_path)
    assert "holds the unfinished run" in refused(tiny(), tmp_path)
    assert run(other, tmp_path, overwrite=True) == ["resuming at step 5 of 30"]
    run(other, tmp_path / "alone")
    assert left(tmp_path)[0] == left(tmp_path / "alone")[0]


@pytest.mark.parametrize("change", [{}, OTHER])
def test_of_two_at_once_the_second_finds_the_first(change, tmp_path):
    """The second waits for the lock, and looks when it has it."""
    held, told, ends = try_hold(tmp_path / ".lock"), [], []

    def second():
        try:
            training.run(tiny(**change), tmp_path, tmp_path, tell=told.append)
        except UserError as error:
            ends.append(str(error))

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    end = time.monotonic() + 60
    while not told:
        assert time.monotonic() < end
        time.sleep(0.01)
    run(tiny(), tmp_path / "first")
    for name, content in contents(tmp_path / "first").items():
        (tmp_path / name).write_bytes(content)
    held.close()
    thread.join(60)
    assert not thread.is_alive()
    if change:
        assert "holds the finished run" in ends[0]
    else:
        assert "already finished" in told[1]
    assert (
        contents(tmp_path / "first").items()
        <= {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}.items()
    )


def test_the_command_says_what_is_there(tmp_path):
    command = ["train", *SMALL, "--out", tmp_path]
    first = ngo(*command)
    again = ngo(*command)
    assert "already finished in" in again
    assert again.splitlines()[-1] == first.splitlines()[-1]
    out = ngo(*command, "--seed", "1", code=2)
    assert f"ngo: out: {str(tmp_path)!r} holds the finished run digits-iid-ring-ngo-p0.9-s0-" in out
    assert "epoch" in ngo(*command, "--seed", "1", "--overwrite")


def test_models_after_the_last_step_are_refused(tmp_path):
    out = ngo("train", *SMALL, "--snapshot", "5000", "--out", tmp_path / "run", code=2)
    assert re.search(
        r"ngo: snapshots: step 5000 is after the last step of digits-iid-\S+, 2; it must be 2 or "
        r"less, or 'final'\.",
        out,
    )
    assert not (tmp_path / "run").exists()
    ngo("train", *SMALL, "--snapshot", "2", "--out", tmp_path / "run")
    assert (tmp_path / "run/models.pt").exists()
