"""The folder that an archive is unpacked into, for the workflow."""

import hashlib
import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY
from two_figures import ngo

from ngo.common.registry import UserError
from ngo.pipeline.archives.archive import read_archive
from ngo.pipeline.archives.unpack import command, unpack
from ngo.training.tidy import aggregate, write_tidy


def test_it_is_unpacked_into_a_folder_of_its_own_with_the_tables_of_its_runs(
    shipped, there, tmp_path
):
    path, _, planned = shipped
    read = read_archive(path)
    folder = unpack(read, planned, tmp_path / "shipped")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert folder == tmp_path / f"shipped/own-{digest[:8]}"
    members = read.members
    found = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }
    records = {
        f"results/runs/{name}/run.json": run.record_text.encode() for name, run in read.runs.items()
    }
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
    with pytest.raises(UserError, match=message):
        unpack(read, planned, tmp_path / "shipped")


def test_an_archive_of_runs_alone_has_nothing_to_rebuild(shipped, there, tmp_path):
    _, configs, planned = shipped
    packing = ["--finished", *(f"--config={name}" for name in configs), "--out", "runs.tar"]
    out = ngo("archive", *packing)
    total, count = len(planned.runs), len(planned.training["figS6"])
    assert (
        f"runs of the config: {total}, packed: {count}, of another results version: 0, not fin"
        in out
    )
    with pytest.raises(UserError, match="has finished runs and no tables or figures"):
        unpack(read_archive("runs.tar"), planned, tmp_path / "shipped")
    assert "leave out 'fig1'" in ngo("archive", "fig1", *packing, code=2)


def test_the_workflow_is_the_repositorys_and_imports_nothing_from_a_folder(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    about = {"artefacts": [], "configs": ["config/config.yaml", "config/b.yaml"], "whole": False}
    words = command(Path("unpacked"), about, [])
    assert words[:4] == [sys.executable, "-P", "-m", "snakemake"]

    def after(option):
        return words[words.index(option) + 1]

    assert after("--snakefile") == str(REPOSITORY / "Snakefile")
    assert after("--workflow-profile") == str((REPOSITORY / "workflow/profiles/local").resolve())
    assert after("--configfile") == str(REPOSITORY / "unpacked/config/b.yaml")
    assert after("--directory") == "unpacked"
