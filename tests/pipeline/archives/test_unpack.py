"""What an archive contains, and what it gives: a folder, tables of its runs, and runs put back."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest
from cases import refused
from finished_runs import CAMPAIGN, campaign, made_up_run
from runs import contents
from two_figures import ngo

from ngo.common.files import exclusive_lock
from ngo.data.loading import train_labels
from ngo.pipeline.archives import unpack as stage
from ngo.pipeline.archives.archive import Archive, collect_finished, read_archive
from ngo.pipeline.archives.finished_runs import of_this_code, packed, revisions, write_run
from ngo.pipeline.archives.unpack import absent_run, joined_tables, needed_tables, unpack
from ngo.pipeline.config import read_config
from ngo.pipeline.paths import RUNS, tidy_table
from ngo.pipeline.plan import plan
from ngo.training.spec_checks import draw
from ngo.training.tidy import aggregate, write_tidy
from verdicts import members as limits
from verdicts.members import write_archive
from verdicts.registry import UserError


def test_it_is_unpacked_into_a_folder_with_the_tables_of_its_runs(shipped, there, tmp_path):
    path, _, planned = shipped
    read = read_archive(path)
    folder = unpack(read, planned, tmp_path / "shipped")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert folder == tmp_path / f"shipped/own-{digest[:8]}"
    members = read.members
    files = [file for file in folder.rglob("*") if file.is_file()]
    found = {str(file.relative_to(folder)): file.read_bytes() for file in files}
    made = {name: run.record_text.encode() for name, run in read.runs.items()}
    records = {f"results/runs/{name}/run.json": text for name, text in made.items()}
    assert len(records) > 1
    table = "results/own/metrics/figS6.parquet"
    runs = (f"results/runs/{run}/metrics.parquet" for run in read.runs)
    write_tidy(aggregate(runs), tmp_path / "joined.parquet")
    assert found.pop(table) == (tmp_path / "joined.parquet").read_bytes()
    sources = {name for name in members if name.endswith((".smk", "Snakefile"))}
    assert len(sources) > 2
    assert found == {name: members[name] for name in members.keys() - sources} | records
    assert unpack(read, planned, tmp_path / "shipped") == folder
    (folder / table).write_bytes(b"other")
    message = "figS6.parquet' has been changed since it was unpacked .expected sha256 .*, found"
    refused(message, unpack, read, planned, tmp_path / "shipped")


def test_an_archive_of_runs_alone_has_nothing_to_rebuild(shipped, there, tmp_path):
    _, configs, planned = shipped
    packing = ["--finished", *(f"--config={name}" for name in configs), "--out", "runs.tar"]
    out = ngo("archive", *packing)
    total, count = len(planned.runs), len(planned.training["figS6"])
    assert f"runs of the config: {total}, packed: {count}, of another results version: 0, n" in out
    with pytest.raises(UserError, match="has finished runs and no tables or figures"):
        unpack(read_archive("runs.tar"), planned, tmp_path / "shipped")
    assert "leave out 'fig1'" in ngo("archive", "fig1", *packing, code=2)


def test_tables_of_its_runs_are_refused_if_absent_or_too_large(shipped, there, monkeypatch):
    read, planned = read_archive(shipped[0]), shipped[2]
    names = needed_tables(read, planned)
    assert names == ["figS6"]
    assert absent_run(read, planned, names) is None
    first, *others = read.runs.values()
    less = Archive("a.tar", read.members | packed(others))
    with pytest.raises(UserError, match=f"'a.tar' is refused: the run {first.id} is not in it"):
        dict(joined_tables(less, planned, names))
    assert absent_run(less, planned, names) == first.id
    monkeypatch.setattr(limits, "JOINED", 1000)
    with pytest.raises(UserError, match="is refused: the tables of its runs are too large"):
        dict(joined_tables(read, planned, names))


@pytest.fixture
def own(tmp_path, monkeypatch):
    """An archive of the four runs of a campaign; its configs, its runs, and their files."""
    monkeypatch.chdir(tmp_path)
    configs, planned = campaign(tmp_path)
    labels = train_labels("digits", tmp_path)
    for spec in planned.runs.values():
        write_run(RUNS / spec.id, made_up_run(spec, draw(spec, labels)))
    write_archive("a.tar", collect_finished(configs)[0])
    made = {path.name: contents(path) for path in RUNS.iterdir()}
    (tmp_path / "results").rename(tmp_path / "made")
    return configs, planned, made


def restore(configs):
    """The runs by outcome, and the line that is told."""
    planned = plan(read_config(configs))
    found = stage.restore(read_archive("a.tar"), planned)
    return found, stage.told(found, planned)


def found_here():
    return {path.name: contents(path) for path in RUNS.iterdir()}


def test_all_files_come_back_byte_for_byte(own, tmp_path):
    configs, _, made = own
    found, line = restore(configs)
    assert found_here() == made
    assert found[stage.RESTORED] == sorted(made)
    assert line == "4 runs restored; 0 of the test tier's runs left to train"
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["runs"]


def test_runs_that_are_here_are_kept_and_damaged_ones_replaced(own, tmp_path):
    configs, planned, made = own
    first, second, third, _ = sorted(made)
    mine = made_up_run(planned.runs[first], rows=2)
    write_run(RUNS / first, mine)
    record = made_up_run(planned.runs[second]).record
    record["about"]["code"] = "0" * 16
    write_run(RUNS / second, dataclasses.replace(mine, record=record))
    (RUNS / third).mkdir()
    (RUNS / third / "run.json").write_text("{")
    (RUNS / third / "metrics.parquet").write_text("")
    (RUNS / third / "checkpoint.pt").write_bytes(b"half")
    found, line = restore(configs)
    assert found[stage.HERE] == [first]
    assert found[stage.RESTORED] == sorted(made)[1:]
    assert "; 0 of the test" in line
    assert found_here() == {**made, first: contents(RUNS / first)}
    assert len(mine.columns["step"]) == 2
    assert found_here()[first] != made[first]


def test_a_campaign_may_gain_seeds_lose_runs_and_need_models(own, tmp_path):
    configs, _ = campaign(tmp_path, seeds=[1, 2, 3])
    found, line = restore(configs)
    assert line == ("2 runs restored, 2 not in the config; 4 of the test tier's runs left to train")
    assert all("-s1-" in name for name in found[stage.RESTORED])
    training = {"own": {**CAMPAIGN["training"]["own"], "snapshots": ["final"]}}
    configs, planned = campaign(tmp_path, training=training)
    assert planned.snapshots
    _, line = restore(configs)
    told = "0 runs restored, 4 trained again for their models, which archives don't have; "
    assert line == f"{told}4 of the test tier's runs left to train"


def test_nothing_is_written_while_the_workflow_runs(own, tmp_path):
    lock = exclusive_lock(stage.LOCK)
    refused("another process is working in this folder", restore, own[0])
    lock.release()
    assert not RUNS.exists()
    assert len(restore(own[0])[0][stage.RESTORED]) == 4


def test_a_file_that_decides_runs_is_here_as_it_is_in_the_archive(own, tmp_path):
    case = {"method": "ngo", "topology": "graph_file", "graph": "graph.edgelist"}
    Path("graph.edgelist").write_text("0 1\n1 2\n")
    training = {"own": {"settings": ["tiny"], "compare": [case]}}
    configs, planned = campaign(tmp_path, training=training)
    spec = next(iter(planned.runs.values()))
    write_run(RUNS / spec.id, made_up_run(spec))
    members, _ = collect_finished(configs)
    packed_again, how = Archive("b.tar", members), {"trusted": False, "tell": print}
    with stage.chosen(packed_again, (), **how) as found:
        assert set(found.runs) == set(planned.runs)
    for change in (lambda path: path.write_text("0 1\n0 2\n"), Path.unlink):
        change(Path("graph.edgelist"))
        message = r"'graph.edgelist' is not here as it is in the archive; .*tar xf b.tar graph.edge"
        with pytest.raises(UserError, match=message), stage.chosen(packed_again, (), **how):
            pass


@pytest.fixture
def unfinished(tmp_path, monkeypatch):
    """A folder with a campaign of four runs, of which none is finished."""
    monkeypatch.chdir(tmp_path)
    return campaign(tmp_path)


def finish(*specs, **record):
    for spec in specs:
        write_run(RUNS / spec.id, made_up_run(spec, **record))


def test_more_finished_runs_give_an_archive_of_all(unfinished, tmp_path):
    configs, planned = unfinished
    first, second, *rest = planned.runs.values()
    refused("none of the 4 runs of the config is finished here", collect_finished, configs)
    finish(first, second)
    members, counts = collect_finished(configs)
    assert " ".join(counts) == "runs of the config packed of another results version not finished"
    assert [*counts.values()] == [4, 2, 0, 2]
    assert set(Archive("a", members).runs) == {first.id, second.id}
    finish(*rest)
    (tmp_path / tidy_table("test", "own")).parent.mkdir(parents=True)
    (tmp_path / tidy_table("test", "own")).write_bytes(b"a table")
    members, counts = collect_finished(configs)
    assert (counts["packed"], counts["not finished"]) == (4, 0)
    assert set(Archive("a", members).runs) == set(planned.runs)
    assert tidy_table("test", "own") not in members
    about = json.loads(members["archive.json"])
    assert (about["artefacts"], about["whole"], about["runs"]) == ([], False, 4)
    assert write_archive("a.tar", members) == write_archive("b.tar", collect_finished(configs)[0])


def test_runs_of_other_libraries_are_not_current_and_lacking_fields_are_allowed(unfinished):
    first, *_ = unfinished[1].runs.values()
    run = made_up_run(first)
    run.record["versions"]["torch"] += "+another.build"
    assert of_this_code(run, first)
    run.record["versions"]["torch"] = "1.0"
    assert not of_this_code(run, first)
    assert revisions([run.record]) == "0123abc with torch 1.0"
    assert revisions([made_up_run(first).record]) == "0123abc"
    first, *_ = unfinished[1].runs.values()
    run = made_up_run(first)
    spec = {name: value for name, value in run.record["spec"].items() if name != "lr_schedule"}
    assert spec != run.record["spec"]
    assert of_this_code(dataclasses.replace(run, record={**run.record, "spec": spec}), first)
