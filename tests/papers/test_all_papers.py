"""What holds of every folder in papers/: its config is planned, and its claims and findings fit."""

from dataclasses import replace

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import REPOSITORY

from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.claim_filters import check_filters
from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import plan
from ngo.report.findings import read_findings
from verdicts.claims.claims_file import read_claims
from verdicts.claims.schema import schema
from verdicts.ledger import judged
from verdicts.statistics.judgement import HOLDS, NOT_RUN

PAPERS = sorted(path.parent.name for path in REPOSITORY.glob("papers/*/config.yaml"))
FOLDERS = ["config/reference", *(f"papers/{name}" for name in PAPERS)]
TOLD = [folder for folder in FOLDERS if (REPOSITORY / folder / "findings.yaml").exists()]


@pytest.fixture
def planned(request, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    own = REPOSITORY / f"papers/{request.param}/config.yaml"
    return plan(read_config([REPOSITORY / "config/config.yaml", own]))


def made_up(specs):
    """Two evaluations of each run, whose scores are noise."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame([{**spec.values(), "run": spec.id} for spec in specs])
    tables = []
    for step in (0, 100):
        noise = rng.uniform(0.4, 0.6, len(rows))
        scores = ("consensus_accuracy", "workers_accuracy_mean", "holdout_accuracy")
        costs = {name: step * 1e6 for name in ("bytes_sent", "virtual_seconds")}
        losses = {"consensus_loss": 1 - noise, "V": 1 + noise}
        tables.append(
            rows.assign(
                step=step, diverged=False, **costs, **losses, **dict.fromkeys(scores, noise)
            )
        )
    return pd.concat(tables, ignore_index=True)


@pytest.mark.parametrize("planned", PAPERS, indirect=True)
def test_every_claim_reads_tables_of_the_plan(planned):
    for claim in planned.ledger.claims.values():
        assert set(claim.tables) <= {*planned.tables("claims")}


@pytest.mark.parametrize("planned", ["base_graph", "d2", "equitopo", "exponential"], indirect=True)
def test_every_claim_on_training_is_decided_by_the_runs_of_the_plan(planned):
    tables = {name: made_up(specs) for name, specs in planned.training.items()}
    on_training = [c.id for c in planned.ledger.claims.values() if {*c.tables} <= {*tables}]
    assert on_training
    for row in judged(planned.ledger, tables):
        assert (row.verdict == NOT_RUN) == (row.claim not in on_training), row


@pytest.mark.parametrize("planned", ["base_graph", "equitopo", "exponential"], indirect=True)
def test_every_claim_on_rounds_holds_in_a_few_coordinates(planned):
    """Exact averages and rates hang on the graphs, and hardly on the states."""
    rounds = MEASUREMENTS["rounds"]
    tables = {}
    for name, entry in planned.measures["rounds"].items():
        options = replace(rounds.read(name, entry), dimension=8, trials=5)
        tables[f"rounds_{name}"] = rounds.measure(options)
    on_rounds = [c.id for c in planned.ledger.claims.values() if {*c.tables} <= {*tables}]
    verdicts = {row.claim: row.verdict for row in judged(planned.ledger, tables)}
    assert {verdicts[claim] for claim in on_rounds} == {HOLDS}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_schema_of_claims_files_accepts_it_and_its_filters_name_columns(folder):
    path = REPOSITORY / folder / "claims.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(content)
    check_filters(read_claims(path), ())


@pytest.mark.parametrize("folder", TOLD)
def test_its_findings_are_about_claims_of_its_ledger(folder):
    listed = read_findings(REPOSITORY / folder / "findings.yaml")
    told = [each for topic in listed["topics"] for each in topic["claims"]]
    asked = [each for question in listed["questions"] for each in question["claims"]]
    claims = read_claims(REPOSITORY / folder / "claims.yaml").claims
    assert [each for each in (*told, *asked) if each not in claims] == []
    assert len(told) == len(set(told))
    assert len(asked) == len(set(asked))
