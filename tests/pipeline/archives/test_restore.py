"""Runs of an archive put back, and those that are not."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from finished_runs import CAMPAIGN, campaign, made_up_run
from runs import contents, run_in, tiny

from ngo.common.locks import exclusive_lock
from ngo.common.registry import UserError
from ngo.data.loading import train_labels
from ngo.data.manifest import manifest_text
from ngo.data.partition import parts_digest
from ngo.pipeline.archives import restore as stage
from ngo.pipeline.archives.archive import Archive, read_archive, write_archive
from ngo.pipeline.archives.collect import RUNS, collect_finished
from ngo.pipeline.archives.packed_runs import FinishedRun, write_run
from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import plan
from ngo.training.partition_file import draw, read


@pytest.fixture
def own(tmp_path, monkeypatch):
    """An archive of the four runs of a campaign; its configs, its runs, and their files."""
    monkeypatch.chdir(tmp_path)
    configs, planned = campaign(tmp_path)
    labels = train_labels("digits", tmp_path)
    for spec in planned.runs.values():
        write_run(RUNS / spec.id, made_up_run(spec, draw(spec, labels)))
    (tmp_path / "results/data").mkdir()
    (tmp_path / "results/data/digits.json").write_text('{"dataset": "forged"}\n')
    write_archive("a.tar", collect_finished(configs)[0])
    made = {path.name: contents(path) for path in RUNS.iterdir()}
    (tmp_path / "results").rename(tmp_path / "made")
    return configs, planned, made


def restore(configs, root="data"):
    return stage.restore(read_archive("a.tar"), plan(read_config(configs)), root)


def found_here():
    return {path.name: contents(path) for path in RUNS.iterdir()}


def test_all_files_come_back_byte_for_byte(own, tmp_path):
    configs, planned, made = own
    found = restore(configs, tmp_path)
    assert found_here() == made
    assert found.restored == sorted(made)
    assert found.line == "4 runs restored; 0 of the test tier's runs left to train"
    for partition, spec in planned.partition_runs.items():
        parts = read(f"results/partitions/{partition}.parquet", spec)
        drawn = draw(spec, train_labels("digits", tmp_path))
        assert all(map(np.array_equal, parts, drawn))
    assert (tmp_path / "results/data/digits.json").read_text() == manifest_text("digits", 1437)
    assert set(found.files) == {
        "results/data/digits.json",
        *(f"results/partitions/{partition}.parquet" for partition in planned.partition_runs),
        *(f"results/runs/{run}/metrics.parquet" for run in planned.runs),
    }


def test_runs_that_are_here_are_kept_and_damaged_ones_replaced(own, tmp_path):
    configs, planned, made = own
    first, second, third, _ = sorted(made)
    mine = made_up_run(planned.runs[first], draw(planned.runs[first], labels(tmp_path)), rows=2)
    write_run(RUNS / first, mine)
    other = dataclasses.replace(mine, record=with_code(made_up_run(planned.runs[second]), "0" * 16))
    write_run(RUNS / second, other)
    (RUNS / third).mkdir()
    (RUNS / third / "run.json").write_text("{")
    (RUNS / third / "metrics.parquet").write_text("")
    (RUNS / third / "checkpoint.pt").write_bytes(b"half")
    found = restore(configs, tmp_path)
    assert found.here == [first]
    assert found.restored == sorted(made)[1:]
    assert found.missing == 0
    assert found_here() == {**made, first: contents(RUNS / first)}
    assert len(mine.columns["step"]) == 2
    assert found_here()[first] != made[first]


def labels(root):
    return train_labels("digits", root)


def with_code(run: FinishedRun, code):
    return {**run.record, "about": {**run.record["about"], "code": code}}


def test_runs_of_other_code_are_not_restored(own, tmp_path, monkeypatch):
    monkeypatch.setattr("ngo.pipeline.archives.collect.results_version", lambda spec: "0")
    found = restore(own[0], tmp_path)
    assert found.line == (
        "0 runs restored, 4 of other code; 4 of the test tier's runs left to train"
    )
    assert not RUNS.exists()
    assert found.files == []


def test_runs_on_another_partition_are_not_restored(own, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "parts_digest", lambda parts: "0" * 16)
    found = restore(own[0], tmp_path)
    assert (len(found.restored), len(found.other_code)) == (0, 4)
    assert not RUNS.exists()


def test_the_campaign_may_gain_seeds_and_lose_runs(own, tmp_path):
    configs, _ = campaign(tmp_path, seeds=[1, 2, 3])
    found = restore(configs, tmp_path)
    assert found.line == (
        "2 runs restored, 2 not in the config; 4 of the test tier's runs left to train"
    )
    assert all("-s1-" in name for name in found.restored)


def test_runs_whose_models_are_needed_are_trained_again(own, tmp_path):
    training = {"own": {**CAMPAIGN["training"]["own"], "snapshots": ["final"]}}
    configs, planned = campaign(tmp_path, training=training)
    assert planned.snapshots
    found = restore(configs, tmp_path)
    assert found.line == (
        "0 runs restored, 4 trained again for their models, which archives don't have; "
        "4 of the test tier's runs left to train"
    )


def test_without_the_data_set_runs_come_back_and_partitions_do_not(own, tmp_path, monkeypatch):
    def absent(name, root):
        raise UserError(f"data.root: {name} is not there.")

    monkeypatch.setattr(stage, "prepare", absent)
    found = restore(own[0], tmp_path)
    assert found_here() == own[2]
    assert found.no_data == {"digits": "data.root: digits is not there."}
    assert found.files == []
    assert not (tmp_path / "results/partitions").exists()


def test_nothing_is_written_while_the_workflow_runs(own, tmp_path):
    lock = exclusive_lock(stage.LOCK)
    try:
        with pytest.raises(UserError, match="another process is working in this folder"):
            restore(own[0], tmp_path)
    finally:
        lock.release()
    assert not RUNS.exists()
    assert len(restore(own[0], tmp_path).restored) == 4


def test_a_digest_of_parts_is_that_of_a_trained_run(tmp_path):
    spec = tiny()
    run_in(spec, tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    parts = draw(spec, train_labels(spec.dataset, tmp_path))
    assert record["about"]["parts"] == parts_digest(parts)


def named(archive, configs=(), trusted=False):
    """The runs and the overlays by which an archive is restored."""
    chosen = stage.chosen(archive, configs, trusted=trusted, tell=print)
    with chosen as (planned, overlays):
        return set(planned.runs), [each.read_bytes() for each in overlays]


def test_by_default_the_configs_are_those_in_the_archive(own, tmp_path):
    _, planned, _ = own
    archive = read_archive("a.tar")
    inside = archive.members["config/config.yaml"]
    (tmp_path / "config.yaml").write_text("a local file of this name: 1\n")
    assert named(archive) == (set(planned.runs), [inside])
    other, more = campaign(tmp_path, seeds=[5])
    assert named(archive, other) == (set(more.runs), [])


def test_a_file_that_decides_runs_is_here_as_it_is_in_the_archive(own, tmp_path):
    case = {"method": "ngo", "topology": "graph_file", "graph": "graph.edgelist"}
    Path("graph.edgelist").write_text("0 1\n1 2\n")
    training = {"own": {"settings": ["tiny"], "compare": [case]}}
    configs, planned = campaign(tmp_path, training=training)
    spec = next(iter(planned.runs.values()))
    write_run(RUNS / spec.id, made_up_run(spec))
    members, _ = collect_finished(configs)
    assert named(Archive("b.tar", members))[0] == set(planned.runs)
    for change in (lambda path: path.write_text("0 1\n0 2\n"), Path.unlink):
        change(Path("graph.edgelist"))
        message = r"'graph.edgelist' is not here as it is in the archive; .*tar xf b.tar graph.edge"
        with pytest.raises(UserError, match=message):
            named(Archive("b.tar", members))
