"""Archives that were changed and packed again: found by their parts, or by making things again."""

import json
from dataclasses import replace

import numpy as np
import pytest
from shipped_plans import planned
from small_archives import SPECTRA, THEORY, forged, forged_table, train, verified

from ngo.pipeline.archives.archive import Archive, archived_plan
from ngo.pipeline.archives.finished_runs import packed
from ngo.pipeline.archives.verify import (
    bases,
    made_run,
    measure_again,
    measured_tables,
    train_again,
)
from verdicts.archive import drawn, missed
from verdicts.members import ABOUT
from verdicts.registry import UserError


@pytest.fixture
def laptop():
    return planned("config/laptop.yaml")


def basis(laptop, claim, measured=()):
    (found,) = bases([claim], laptop, {table.id: table for table in measured})
    return found


def test_a_difference_rests_on_both_sides_and_no_other_runs(laptop):
    found = basis(laptop, "37-mnist-noniid")
    specs = [laptop.runs[name] for name in found.runs]
    assert {spec.method for spec in specs} == {"gossip", "ngo"}
    assert {(spec.dataset, spec.partition) for spec in specs} == {("mnist", "shards")}
    sides = [spec for spec in laptop.training["table1"] if spec.method in ("gossip", "ngo")]
    wanted = {spec.id for spec in sides if (spec.dataset, spec.partition) == ("mnist", "shards")}
    assert set(found.runs) == wanted


def test_a_pooled_claim_rests_on_what_its_claims_rest_on(laptop):
    ids = ("37-mnist-noniid", "37-mnist-iid", "5")
    claims = laptop.ledger.claims
    pool = replace(claims[ids[0]], id="pool", tables=(), pooled=ids)
    parts = [basis(laptop, name) for name in ids]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(claims, "pool", pool)
        found = basis(laptop, "pool")
    assert set(found.runs) == {run for part in parts for run in part.runs}
    assert len(found.runs) > len(parts[0].runs) > 0
    assert found.unchecked == parts[2].unchecked


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the runs and the measurements of a campaign."""
    folder = tmp_path_factory.mktemp("trained")
    train(folder, measured=True)
    return folder


def unmade(members, code=1):
    """What verify says without making anything again."""
    return verified(members, "--sample", 0, code=code)


def one_bit(columns):
    columns["V"][-1] = np.nextafter(columns["V"][-1], 10)


def test_an_honest_archive_passes_with_any_seed_and_the_odds_are_told(own):
    for seed in (0, 20261122):
        out = verified(own, "--seed", seed, "--sample", 2)
        assert out.count("bit for bit") == 2 + 2
        assert "FAIL" not in out
        assert f"pass  sums: {len(own)} files" in out
        assert "pass  runs: all that the tables and figures are made from" in out
        assert "2 of 4 runs retrained" in out
        assert "1 %: 50.0 %, 5 %: 50.0 %, 10 %: 50.0 %, 50 %: 16.7 %, 100 %: 0.0 %\n" in out
        assert "2 of 4 cases of spectra_own measured again" in out
        assert "theory_theory is not checked: its cases take minutes; --claim draws among" in out


def test_one_changed_bit_of_one_run_is_found_by_retraining_only(own):
    members, run = forged(own, one_bit)
    assert "FAIL" not in unmade(members, code=0)
    out = verified(members, "--seed", 0, "--sample", 4, code=1)
    assert out.count("FAIL") == 1
    assert f"FAIL  {run}: V at step" in out
    assert out.splitlines()[-1].startswith(f"ngo: verify: 1 failed, first {run}: V at step ")


def test_other_names_records_that_do_not_fit_and_absent_runs_are_found(own):
    runs = Archive("own.tar", own).runs
    for run in runs.values():
        method = run.record["spec"]["method"]
        run.record["spec"]["method"] = {"ngo": "gossip", "gossip": "ngo"}[method]
    changed = {**own, **packed(runs.values())}
    assert f"FAIL  records: {min(runs)}: its record has method " in unmade(changed)
    members, run = forged(own, one_bit, record=False)
    assert f"FAIL  records: {run}: V is" in unmade(members)
    runs = Archive("own.tar", own).runs
    runs.pop(run)
    about = {**json.loads(own[ABOUT]), "artefacts": ["own"]}
    less = {**own, **packed(runs.values()), ABOUT: json.dumps(about).encode()}
    assert f"FAIL  runs: {run} is not in the archive" in unmade(less)


def test_runs_that_can_not_be_drawn_are_counted(own, monkeypatch):
    runs = Archive("own.tar", own).runs.values()
    out = verified(own, "--seed", 0, "--longest", min(run.seconds for run in runs))
    assert "3 of 4 runs could not be drawn: longer than --longest" in out
    assert "1 of 1 runs retrained" in out
    monkeypatch.setattr("ngo.pipeline.archives.finished_runs.results_version", lambda spec: "0")
    out = verified(own, "--seed", 0, code=2)
    assert "no run can be retrained: 4 of another results version. " in out
    assert f"Runs were made by revision {next(iter(runs)).record['source']}." in out
    assert "4 of 4 runs could not be drawn: of another results version" in unmade(own, code=0)


def kept_times(table):
    """Claim 15 made to hold: consensus is reached at T* as printed at the latest."""
    bounds = table["kind"] == "bounds"
    table.loc[bounds, "measured"] = table.loc[bounds, ["measured", "paper"]].min(axis=1)
    return table


def test_forged_tables_rows_of_no_case_and_missing_rows_are_found(own):
    out = verified(forged_table(own, THEORY, kept_times), "--claim", "time", "--seed", 0, code=1)
    assert "FAIL  theory_theory: kind bounds: measured at row " in out
    assert "claim time rests on 2 cases of theory_theory" in out
    more = forged_table(own, SPECTRA, lambda table: table.replace({"n": {6: 7}}))
    assert "FAIL  spectra_own: it has rows of a case that the config lacks" in unmade(more)
    less = forged_table(own, SPECTRA, lambda table: table.iloc[1:])
    out = verified(less, "--sample", 4, "--seed", 0, code=1)
    assert "spectra_own: topology ring, n 4: 0 rows in the archive, 1 here" in out
    without = forged_table(own, SPECTRA, lambda table: table.drop(columns="n"))
    assert "spectra_own: it has no column 'n'" in unmade(without)


def test_runs_are_drawn_among_those_of_a_known_claim_by_a_seed(own):
    out = verified(own, "--claim", "gossip-learns", "--seed", 1, "--sample", 2)
    made = [line for line in out.splitlines() if line.endswith("bit for bit")]
    assert len(made) == 2
    assert all("-gossip-" in line for line in made)
    assert "claim gossip-learns rests on 2 runs\n  2 of 2 runs retrained" in out
    out = verified(own, "--claim", "ngo-wins", "--seed", 1, "--sample", 1)
    assert "claim ngo-wins rests on 4 runs\n  1 of 4 runs retrained; the probability of " in out
    assert "10 %: 75.0 %, 50 %: 50.0 %, 100 %: 0.0 %" in out
    out = verified(own, "--claim", "gosip-learns", "--sample", 0, code=2)
    assert out.endswith("Did you mean 'gossip-learns'?\n")
    assert out.startswith("ngo: claim: 'gosip-learns' is unknown; allowed: gossip-learns, ")
    seed = "ngo: seed: it is missing; name one, or draw nothing with --sample 0.\n"
    assert verified(own, code=2) == seed


def test_a_run_and_a_case_are_made_again_in_processes_of_their_own(own, tmp_path):
    archive = Archive("own.tar", own)
    run = next(iter(archive.runs.values()))
    with archived_plan(archive, trusted=False, tell=pytest.fail) as planned:
        again = train_again(planned.runs[run.id], planned, tmp_path, 1, {})
        assert again.table.equals(made_run(run).table)
        assert again.made_on == made_run(run).made_on
        (spectra,) = (t for t in measured_tables(archive, planned)[0] if t.id == "spectra_own")
        rows = measure_again(spectra, 0, planned, {})
        assert rows.table.equals(spectra.made(0, None).table[list(rows.table)])
        assert rows.made_on == again.made_on
        with pytest.raises(UserError, match="^verify: spectra_own: topology ring, n 4: "):
            measure_again(spectra, 0, planned, {"PYTHONHOME": "/no such folder"})


def test_a_run_is_drawn_uniformly_by_the_seed_and_a_forgery_missed_as_often():
    names = [f"run{k}" for k in range(10)]
    assert drawn(names, 3, 1) == drawn(names[::-1], 3, 1)
    assert drawn(names, 99, 1) == names
    counts = dict.fromkeys(names, 0)
    for seed in range(3000):
        for name in drawn(names, 2, seed):
            counts[name] += 1
    assert all(500 < count < 700 for count in counts.values())  # 600 ± 4.5 standard deviations
    assert missed(20, 0, 0.5) == 1
    assert missed(20, 20, 0) == 0  # a share of 0 stands for a single one
    assert missed(20, 3, 1) == 0
    misses = sum(not any(name < 2 for name in drawn(range(20), 3, seed)) for seed in range(3000))
    assert abs(missed(20, 3, 0.1) - misses / 3000) < 0.035
