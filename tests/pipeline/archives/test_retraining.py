"""Runs of an archive, trained again."""

import dataclasses
import json
import subprocess

import pytest
from finished_runs import campaign
from runs import run_in

from ngo.pipeline.archives.collect import RUNS
from ngo.pipeline.archives.packed_runs import read_run
from ngo.pipeline.archives.retraining import Retraining, other_rounding


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with one run of a campaign, and the run's specification."""
    folder = tmp_path_factory.mktemp("trained")
    spec = next(iter(campaign(folder)[1].runs.values()))
    run_in(spec, folder / RUNS / spec.id)
    return folder, spec


def test_elsewhere_a_run_is_trained_with_two_roundings(trained, tmp_path, monkeypatch):
    folder, spec = trained
    run = read_run(folder / RUNS / spec.id)
    asked = []

    def trained(self, spec, environment):
        asked.append(dict(environment))
        about = {**run.record["about"], "kernels": "kernels-of-another"}
        columns = dict(run.columns)
        if environment:
            columns["V"] = run.columns["V"] * 1.1
        return dataclasses.replace(run, record={**run.record, "about": about}, columns=columns)

    monkeypatch.setattr(Retraining, "trained", trained)
    assert Retraining(tmp_path).difference(run, spec) == ("within two roundings", None)
    assert asked[0] == {}
    assert asked[1]["NGO_MARCH"] == "none"
    far = dataclasses.replace(run, columns={**run.columns, "V": run.columns["V"] * 2})
    how, fault = Retraining(tmp_path).difference(far, spec)
    assert how == "within two roundings"
    assert fault.startswith("V at step ")


def test_another_rounding_is_of_the_other_kernels_and_narrower_vectors(trained):
    run = read_run(trained[0] / RUNS / trained[1].id)

    def chosen(**about):
        made = {**run.record["about"], **about}
        return other_rounding(dataclasses.replace(run, record={**run.record, "about": made}))

    wide = chosen(instructions="AVX512", kernels="kernels-1")
    assert (wide["NGO_MARCH"], wide["ATEN_CPU_CAPABILITY"]) == ("none", "avx2")
    narrow = chosen(instructions="AVX2", kernels=None)
    assert (narrow["NGO_MARCH"], narrow["ATEN_CPU_CAPABILITY"]) == ("native", "default")


@pytest.mark.parametrize("how", [{}, {"NGO_MARCH": "none", "ATEN_CPU_CAPABILITY": "default"}])
def test_a_run_is_retrained_in_a_process_of_its_own(trained, tmp_path, how):
    folder, spec = trained
    archived = read_run(folder / RUNS / spec.id)
    again = Retraining(tmp_path, threads=1).trained(spec, how)
    same = again.columns["V"].tobytes() == archived.columns["V"].tobytes()
    assert same == (not how)
    assert (again.about["kernels"] is None) == bool(how)
    assert json.loads(again.record_text)["id"] == spec.id


def test_an_earlier_version_gets_the_fields_that_it_knows_under_its_names(
    trained, tmp_path, monkeypatch
):
    folder, spec = trained
    asked = []

    def run(command, **how):
        asked.extend(command)
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(subprocess, "run", run)
    place = folder / RUNS / spec.id
    Retraining(tmp_path).trained_in(place, spec, {}, ["dataset", "protocol"])
    place_of = asked.index("--protocol")
    assert asked[place_of + 1] == spec.method
    assert "--dataset" in asked
    assert not {"--method", "--lr", "--workers"} & {*asked}
