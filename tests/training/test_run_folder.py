"""Folders with results: those of another run are kept, and no run is trained twice."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from cases import cases, mistake_of
from pyarrow import parquet
from runs import PARTS, contents, digits_run, files, interrupted, left, run_in, tiny

from ngo.common import versions
from ngo.common.registries import MODELS
from ngo.data.dataset import Arrays, dataset
from ngo.data.partition import owners
from ngo.models.model import model
from ngo.training import run_folder
from ngo.training.partition_file import check_shares, parts_by_owner, read, write
from ngo.training.results_version import results_version
from ngo.training.run import run
from ngo.training.spec_checks import draw, held_out, resolve
from verdicts.registry import UserError

OTHER = {"lr": 0.01}
OWN_DATA = {"dataset": "file", "model": "file_net", "task": "classification", "epochs": 5.0}
SPEEDS = "time,worker,seconds\n0,0,1\n0,1,1\n0,2,1\n"


def refused(spec, folder, **how):
    """The line that refuses a run, which leaves the folder unchanged."""
    before = contents(folder)
    told = mistake_of(run_in, spec, folder, progress=pytest.fail, **how)
    assert contents(folder) == before
    return told


@cases(
    "change, how, named",
    (OTHER, {}, "lr 0.05 and not 0.01"),
    ({}, {"parts": PARTS}, "parts '[0-9a-f]{16}' and not '[0-9a-f]{16}'"),
    ({}, {"snapshots": [5]}, r"snapshots \['2', 'final'\] and not \['5'\]"),
)
def test_another_finished_run_is_kept(change, how, named, tmp_path):
    first = tiny()
    run_in(first, tmp_path / "run", snapshots=[2, "final"])
    line = refused(tiny(**change), tmp_path / "run", **how)
    held = f"out: '.*/run' holds the finished run {first.id}, with {named}; "
    assert re.fullmatch(f"{held}choose another folder, or train over it with --overwrite.", line)
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


@pytest.fixture
def scaled(own_entries, tmp_path):
    """A run on data that a plugin reads from a file, and a function that scales them."""

    @dataset("file", train_samples=60, input_shape=(4,), classes=3)
    def read(root):
        found = np.load(tmp_path / "data.npz")
        return Arrays(found["x"][:60], found["y"][:60], found["x"][60:], found["y"][60:])

    @model("file_net", input_shape=(4,), task="classification")
    def net(generator):
        return torch.nn.Linear(4, 3)

    assert MODELS["file_net"].brought
    assert not MODELS["mnist_cnn"].brought

    def scale(factor, labels=0):
        draws = np.random.default_rng(0)
        x, y = draws.normal(size=(80, 4)), draws.integers(0, 3, 80)
        y[60:] = (y[60:] + labels) % 3
        np.savez(tmp_path / "data.npz", x=(factor * x).astype("float32"), y=y)

    return scale


@pytest.mark.parametrize(
    ("finished", "clock", "change"),
    [(False, "steps", (3.0, 0)), (True, "waiting", (1.0, 1)), (True, "steps", (3.0, 0))],
)
def test_a_run_on_other_data_is_refused(scaled, change, clock, finished, tmp_path):
    """Also if only the labels of the test samples differ."""
    spec, out = tiny(**OWN_DATA, batch_size=4, clock=clock), tmp_path / "run"
    scaled(1.0)
    (run_in if finished else interrupted)(spec, out)
    scaled(*change)
    named = "with data_digest '[0-9a-f]{16}' and not '[0-9a-f]{16}'; choose another folder"
    assert re.search(named, refused(spec, out))
    scaled(1.0)
    (line,) = run_in(spec, out)
    assert line.startswith("already finished" if finished else "resuming at step 5")


@pytest.mark.parametrize(("field", "finished"), [("graph", False), ("speed_file", True)])
def test_a_run_on_another_file_is_refused(field, finished, tmp_path):
    path, out = tmp_path / "file.edgelist", tmp_path / "run"
    text, more, fields = {
        "graph": ("0 1\n1 2\n", "2 0\n", {"topology": "graph_file"}),
        "speed_file": (SPEEDS, "2,2,3\n", {"clock": "waiting", "speed": "speed_trace"}),
    }[field]
    path.write_text(text)
    spec = tiny(**fields, **{field: str(path)})
    (run_in if finished else interrupted)(spec, out)
    path.write_text(text + more)
    assert f"with {field}_digest" in refused(spec, out)


def test_a_run_with_missing_files_is_trained(tmp_path):
    run_in(tiny(), tmp_path, snapshots=["final"])
    whole = left(tmp_path)
    for lost in ("metrics.parquet", "models.pt"):
        (tmp_path / lost).unlink()
        assert run_in(tiny(), tmp_path, snapshots=["final"]) == []
        assert left(tmp_path) == whole


@pytest.mark.parametrize("name", ["metrics.parquet", "models.pt"])
def test_a_file_of_ones_own_with_the_name_of_a_result_stays(name, tmp_path):
    (tmp_path / name).write_text("mine")
    assert re.match(f"out: '.*{name}' is there without a run.json; ", refused(tiny(), tmp_path))
    assert (tmp_path / name).read_text() == "mine"
    run_in(tiny(), tmp_path, overwrite=True)
    assert (tmp_path / "run.json").exists()


def test_a_run_that_can_not_be_read_is_not_trained_again(tmp_path, monkeypatch):
    run_in(tiny(), tmp_path)
    monkeypatch.setattr(Path, "read_bytes", lambda path: os.listdir(path / "file"))
    for call in (run_folder.record_of, lambda out: run_folder.sum_of(out / "metrics.parquet")):
        with pytest.raises(UserError, match="^run: '.*' can't be read: Not a directory.$"):
            call(tmp_path)


def test_a_damaged_record_is_refused(tmp_path):
    run_in(tiny(), tmp_path)
    for content in ("", "{}", '{"id": "a", "spec": {}}', '"ä"', "[" * 10**5):
        (tmp_path / "run.json").write_text(content, encoding="latin-1")
        line = refused(tiny(), tmp_path)
        assert re.match("out: '.*run.json' is damaged, or the record of another version; ", line)
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


def test_a_run_is_current_if_it_is_whole_and_made_as_now(tmp_path):
    spec, version, made_with = tiny(), results_version(tiny()), versions.installed()
    run_in(spec, tmp_path, snapshots=[2, "final"])

    def current(spec=spec, version=version, made_with=made_with, snapshots=()):
        return run_folder.is_current(tmp_path, spec, version, made_with, snapshots)

    part = {"numpy": made_with["numpy"]}
    for same in ({}, {"snapshots": [2]}, {"snapshots": ["final", 2]}, {"made_with": part}):
        assert current(**same)
    for other in (
        {"snapshots": [3]},
        {"version": f"{version} clipped=2"},
        *({"made_with": {**made_with, name: "1.0"}} for name in ("numpy", "another")),
        *({"spec": tiny(**fields)} for fields in (OTHER, {"epochs": 0.45})),
    ):
        assert not current(**other)
    (tmp_path / "models.pt").unlink()
    assert current()
    assert not current(snapshots=[2])
    with (tmp_path / "metrics.parquet").open("ab") as file:
        file.write(b"\0")
    assert not current()
    assert not run_folder.is_current(tmp_path / "none", spec, version, made_with)


def test_a_damaged_partition_file_and_shares_that_only_a_draw_shows_are_refused(tmp_path, digits):
    spec = digits_run(partition="shards", shards=40)
    write(tmp_path / "p.parquet", [spec], tmp_path)
    content = (tmp_path / "p.parquet").read_bytes()
    (tmp_path / "p.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match="partition-file: .*damaged"):
        read(tmp_path / "p.parquet", spec)
    # Runs whose data is not there are not.
    uneven = digits_run(partition="dirichlet", beta=0.05, workers=8)
    with pytest.raises(UserError, match="batch_size: 16 is larger than worker [0-9]+'s share of"):
        check_shares([digits_run(), uneven], tmp_path)
    check_shares([digits_run(), replace(uneven, dataset="mnist")], tmp_path)


def test_a_file_of_several_partitions_has_each_of_them(digits, tmp_path):
    shards = digits_run(partition="shards", shards=40)
    specs = [shards, replace(shards, seed=1), digits_run(holdout=0.2), digits_run(workers=5)]
    write(tmp_path / "p.parquet", specs, tmp_path)
    for spec in (*specs[::-1], replace(shards, seed=1, method="gossip", p=None)):
        parts = draw(spec, digits.labels)
        back = read(tmp_path / "p.parquet", spec)
        assert all(np.array_equal(a, b) for a, b in zip(parts, back, strict=True))
        write(tmp_path / "one.parquet", [spec], tmp_path)
        alone = read(tmp_path / "one.parquet", spec)
        assert all(np.array_equal(a, b) for a, b in zip(alone, back, strict=True))
    for other, named in (
        (replace(shards, seed=2), "seed 0, but the run is of seed 2"),
        (digits_run(workers=6), "partition 'shards', but the run is of partition 'iid'"),
    ):
        with pytest.raises(UserError, match=named):
            read(tmp_path / "p.parquet", other)
    first = (tmp_path / "p.parquet").read_bytes()
    write(tmp_path / "again.parquet", specs, tmp_path)
    assert (tmp_path / "again.parquet").read_bytes() == first


def test_a_natural_partition_keeps_owners_together_without_the_held_out(own_entries, tmp_path):
    """Twelve owners of the digits; the first has three samples."""
    writers = np.r_[np.zeros(3, int), 1 + np.arange(1434) % 11]
    owners("digits")(lambda root: writers)
    spec = digits_run(partition="natural", workers=4, holdout=0.2)
    parts = parts_by_owner(spec, tmp_path)
    held = set(held_out(spec, 1437))
    owned = [set(writers[part]) for part in parts]
    assert [len(each) for each in owned] == [3, 3, 3, 3]
    assert set.union(*owned) == set(range(12))
    assert sorted(np.concatenate(parts)) == [i for i in range(1437) if i not in held]
    assert parts_by_owner(digits_run(), tmp_path) is None


@cases(
    "table, message",
    ({"worker": [0], "label": [0]}, "it has no column 'sample'"),
    ({"worker": [0], "sample": ["a"], "label": [0]}, "'sample' has missing values or another"),
    ({"worker": [None], "sample": [0], "label": [0]}, "'worker' has missing values or another"),
    ({"worker": [0], "sample": [1437], "label": [0]}, "sample 1437 is out of range"),
)
def test_a_file_that_claims_to_be_the_runs_partition(tmp_path, table, message):
    spec = resolve({"dataset": "digits", "batch_size": 8})
    facts = {"ngo": json.dumps({"partitions": [spec.partition_fields]})}
    parquet.write_table(pa.table(table).replace_schema_metadata(facts), tmp_path / "p.parquet")
    with pytest.raises(UserError, match=f"partition-file: .*p.parquet'.* .*{message}"):
        read(tmp_path / "p.parquet", spec)
