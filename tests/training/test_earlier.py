"""Folders with results: those of another run are kept, and no run is trained twice."""

import json
import re
import threading
import time

import numpy as np
import pytest
from runs import contents, files, interrupted, left, run_in, tiny

from ngo.common.locks import try_lock
from ngo.common.registry import UserError
from ngo.training import record
from ngo.training.run import run
from ngo.training.spec import NEUTRAL

OTHER = {"lr": 0.01}
PARTS = [np.arange(k, 6400, 3) for k in range(3)]


def refused(spec, folder, **how):
    """The line that refuses a run, which leaves the folder unchanged."""
    before = contents(folder)
    with pytest.raises(UserError) as told:
        run_in(spec, folder, progress=pytest.fail, **how)
    assert contents(folder) == before
    return str(told.value)


@pytest.mark.parametrize(
    ("change", "how", "named"),
    [
        (OTHER, {}, "lr 0.05 and not 0.01"),
        ({"method": "gossip"}, {}, "method 'ngo' and not 'gossip'"),
        ({}, {"parts": PARTS}, "parts '[0-9a-f]{16}' and not '[0-9a-f]{16}'"),
        ({}, {"snapshots": [5]}, r"snapshots \['2', 'final'\] and not \['5'\]"),
    ],
)
def test_another_finished_run_is_kept(change, how, named, tmp_path):
    first = tiny()
    run_in(first, tmp_path / "run", snapshots=[2, "final"])
    line = refused(tiny(**change), tmp_path / "run", **how)
    assert re.fullmatch(
        f"out: '.*/run' holds the finished run {first.id}, with {named}; choose another folder, or "
        f"train over it with --overwrite.",
        line,
    )
    assert run_in(tiny(**change), tmp_path / "run", overwrite=True, **how) == []
    run_in(tiny(**change), tmp_path / "alone", **how)
    assert left(tmp_path / "run") == left(tmp_path / "alone")  # without the first run's models
    assert files(tmp_path / "run") == files(tmp_path / "alone")


@pytest.mark.parametrize("epochs", [0.45, 0.1])
def test_a_finished_run_that_is_asked_for_more_epochs_says_why_it_cannot_go_on(epochs, tmp_path):
    first = tiny()
    run_in(first, tmp_path)
    line = refused(tiny(epochs=epochs), tmp_path)
    assert f"the finished run {first.id}, with epochs {first.epochs} and not {epochs} (" in line
    assert "(a run can't be made longer or shorter: its learning rate's schedule and" in line
    assert line.endswith("choose another folder, or train over it with --overwrite.")
    assert "\n" not in line
    assert "with lr" in refused(tiny(epochs=epochs, lr=0.01), tmp_path)  # it is another run anyway


@pytest.mark.parametrize("asked", [["final", 2], [2], []])
def test_the_same_run_is_trained_once(asked, tmp_path):
    """Also if fewer models are asked for than it kept."""
    how = {"snapshots": [2, "final"]}
    last = run(tiny(), tmp_path, tmp_path, **how)
    before, told = contents(tmp_path), []
    again = run(tiny(), tmp_path, tmp_path, snapshots=asked, tell=told.append, progress=pytest.fail)
    assert told == [f"already finished in {str(tmp_path)!r}; --overwrite trains it again"]
    assert contents(tmp_path) == before
    assert repr(again) == repr(last)  # some values are NaN
    steps = []
    assert run_in(tiny(), tmp_path, overwrite=True, progress=steps.append, **how) == []
    assert steps == list(range(1, 31))


def test_a_finished_run_by_other_code_says_so(tmp_path, monkeypatch):
    run_in(tiny(), tmp_path)
    monkeypatch.setattr(record, "run_fingerprint", lambda spec: "new")
    (line,) = run_in(tiny(), tmp_path, progress=pytest.fail)
    assert re.fullmatch(
        "already finished in '.*', made with code '[0-9a-f]{16}' and not 'new'; --overwrite trains "
        "it again",
        line,
    )


def test_a_run_with_missing_files_is_trained(tmp_path):
    run_in(tiny(), tmp_path, snapshots=["final"])
    whole = left(tmp_path)
    for lost in ("metrics.parquet", "models.pt"):
        (tmp_path / lost).unlink()
        assert run_in(tiny(), tmp_path, snapshots=["final"]) == []
        assert left(tmp_path) == whole


def test_a_record_without_a_field_is_that_of_the_neutral_value(tmp_path):
    """Records that were written before a field was added remain valid."""
    run_in(tiny(), tmp_path)
    path = tmp_path / "run.json"
    found = json.loads(path.read_text())
    for name in NEUTRAL:
        del found["spec"][name]
    path.write_text(json.dumps(found))
    (line,) = run_in(tiny(), tmp_path, progress=pytest.fail)
    assert "already finished" in line
    found["spec"]["local_rule"] = "adam"
    path.write_text(json.dumps(found))
    assert "local_rule 'adam' and not 'sgd'" in refused(tiny(), tmp_path)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"id": "a", "spec": {}}', '"ä"', "[" * 10**5, '{"id": 1}']
)
def test_a_damaged_record_is_refused(content, tmp_path):
    run_in(tiny(), tmp_path)
    (tmp_path / "run.json").write_text(content, encoding="latin-1")
    line = refused(tiny(), tmp_path)
    assert re.fullmatch("out: '.*run.json' is damaged, or the record of another version; .*", line)
    run_in(tiny(), tmp_path, overwrite=True)
    assert json.loads((tmp_path / "run.json").read_text())["id"] == tiny().id


def test_overwriting_resumes_from_its_checkpoint(tmp_path):
    """The old results stay until the end; without ``overwrite`` the run is refused throughout."""
    run_in(tiny(), tmp_path)
    before = contents(tmp_path)
    other = tiny(**OTHER)
    interrupted(other, tmp_path, overwrite=True)
    assert before.items() <= contents(tmp_path).items()
    assert "holds the finished run" in refused(other, tmp_path)
    assert "holds a checkpoint of the run" in refused(tiny(), tmp_path)
    assert run_in(other, tmp_path, overwrite=True) == ["resuming at step 5 of 30"]
    run_in(other, tmp_path / "alone")
    assert left(tmp_path)[0] == left(tmp_path / "alone")[0]


@pytest.mark.parametrize("change", [{}, OTHER])
def test_of_two_at_once_the_second_finds_the_first(change, tmp_path):
    """The second waits for the lock, and then looks into the folder."""
    held, told, ends = try_lock(tmp_path / ".lock"), [], []

    def second():
        try:
            run(tiny(**change), tmp_path, tmp_path, tell=told.append)
        except UserError as error:
            ends.append(str(error))

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    end = time.monotonic() + 60
    while not told:
        assert time.monotonic() < end
        time.sleep(0.01)
    run_in(tiny(), tmp_path / "first")
    for name, content in contents(tmp_path / "first").items():
        (tmp_path / name).write_bytes(content)
    held.release()
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
