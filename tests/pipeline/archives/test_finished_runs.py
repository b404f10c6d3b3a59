"""Finished runs in two members of an archive, and back in files of their own."""

import dataclasses
import lzma

import numpy as np
import pytest
from cases import refused
from finished_runs import made_up_run
from runs import run_in, tiny

from ngo.pipeline.archives.finished_runs import (
    METRICS,
    RECORDS,
    packed,
    read_run,
    unpacked,
    write_run,
)
from verdicts.registry import UserError

SPECS = [tiny(seed=seed) for seed in range(3)]
FILES = ("metrics.parquet", "run.json")


def test_the_files_of_trained_runs_come_back_byte_for_byte(tmp_path):
    specs = [tiny(), tiny(method="centralized"), tiny(lr=1e9, seed=1), tiny(holdout=0.2)]
    for spec in specs:
        run_in(spec, tmp_path / "made" / spec.id)
    runs = [read_run(tmp_path / "made" / spec.id) for spec in specs]
    assert runs[2].columns["diverged"][-1]
    members = packed(runs)
    assert packed(reversed(runs)) == members == packed(unpacked(members).values())
    for name, run in unpacked(members).items():
        write_run(tmp_path / "back" / name, run)
        for file in FILES:
            made = (tmp_path / "made" / name / file).read_bytes()
            assert (tmp_path / "back" / name / file).read_bytes() == made


def test_files_that_are_not_of_one_run_are_refused(tmp_path):
    write_run(tmp_path / "a", made_up_run(SPECS[0]))
    write_run(tmp_path / "b", made_up_run(SPECS[1]))
    (tmp_path / "a/metrics.parquet").replace(tmp_path / "b/metrics.parquet")
    refused(r"b/run.json' is damaged, or not the record of its met", read_run, tmp_path / "b")
    refused(r"(does not exist|is the wrong file)", read_run, tmp_path / "a")
    refused(r"(does not exist|is the wrong file|no such file)", read_run, tmp_path / "c")


@pytest.mark.parametrize("name", ["../outside", "a/b", "..", "a\\b", "", "/tmp"])
def test_a_run_can_not_name_another_folder(name):
    with pytest.raises(UserError, match="its runs can't be read .*is not the name of a run"):
        unpacked(packed([made_up_run(SPECS[0], id=name)]))


def test_members_that_do_not_fit_are_refused():
    runs = [made_up_run(spec) for spec in SPECS]
    whole, fewer = packed(runs), packed(runs[:2])
    refused("it has no runs", unpacked, {METRICS: whole[METRICS]})
    with pytest.raises(UserError, match="has a record and no rows"):
        unpacked({METRICS: fewer[METRICS], RECORDS: whole[RECORDS]})
    broken = {
        RECORDS: [fewer[RECORDS], whole[RECORDS][:-9], b"", lzma.compress(b"{}\n[1]\n")],
        METRICS: [b"", whole[METRICS][:-9], whole[METRICS][9:]],
    }
    for name, contents in broken.items():
        for content in contents:
            refused(r"^its runs can't be read", unpacked, {**whole, name: content})
    incomplete = dataclasses.replace(runs[0], columns={"step": np.arange(3)})
    refused("the metrics of .* are not complete", unpacked, packed([incomplete]))


@pytest.mark.parametrize(
    "change",
    [{"spec": 1}, {"about": {}}, {"final": {}}, {"versions": {"ngo": []}},
     {"final": {"step": 1, "V": []}}, {"started": "today"}, {"wall_seconds": "1"},
     {"evaluation_seconds": []}, {"evaluation_seconds": ["a"]}, {"parameters": "many"},
     {"source": 1}, {"seed": "a"}, {"id": "metrics.parquet"}, {"spec": {"V": 1}},
     {"about": {**made_up_run(SPECS[0]).record["about"], "torch": {}}}],
)  # fmt: skip
def test_a_record_of_other_values_is_refused(change):
    run = made_up_run(SPECS[0])
    run.record.update(change)
    refused(r"^its runs can't be read \(", unpacked, packed([run]))
