"""What holds of every paper: plan, claims and findings fit, and a claim can hold and can fail."""

import math
import re
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import shipped_plans
from conftest import REPOSITORY

from ngo.measures.measurement import MEASUREMENTS
from ngo.pipeline.claim_filters import check_filters
from ngo.pipeline.config import read_config, without_left_out
from ngo.report.answers import SLOT
from ngo.report.contents import SHIPPED, read_shipped
from ngo.report.findings import read_findings
from verdicts import judged, judgement, read_claims
from verdicts.claims import ClaimsFile
from verdicts.table import joined, selected

BASE = "config/config.yaml"
PAPERS = sorted(path.parent.name for path in REPOSITORY.glob("papers/*/config.yaml"))
FOLDERS = ["config/reference", *(f"papers/{name}" for name in PAPERS)]
TOLD = [folder for folder in FOLDERS if (REPOSITORY / folder / "findings.yaml").exists()]

FIELD = sorted({*PAPERS} - {"beyond", "d2", "ngo", "stale"})
"""The field's papers, and the board of its methods: ten seeds, as many values on each side."""

OTHERS = [name for name in FIELD if name != "board"]
"""Those with a paper's claims, and claims of ours named ``ours-``. All of the board's are ours."""

EVALUATIONS = np.linspace(0, 1, 5)
EFFECT = 0.5
"""By how much the natural logarithm of what is measured is another on the favoured side."""


def planned(paper):
    return shipped_plans.planned(f"papers/{paper}/config.yaml")


@cache
def made_up(paper):
    """Tables of all planned runs, alike but for some noise of each run and of each seed."""
    return {name: _table(specs) for name, specs in planned(paper).training.items()}


def _table(specs):
    runs = pd.DataFrame([{"run": spec.id, **spec.values()} for spec in specs])
    draws = (np.random.default_rng(zlib.crc32(name.encode())) for name in runs["run"])
    noise = [draw.normal(0, 0.001) for draw in draws]
    runs["level"] = np.array(noise) + runs["seed"].map(lambda seed: 0.01 * np.sin(seed))
    rows = runs.merge(pd.DataFrame({"share": EVALUATIONS}), how="cross")
    rows["step"] = (100 * rows["share"]).round().astype(int)
    rows["epoch"] = rows["share"] * rows["epochs"]
    costs = {name: 1000.0 * rows["step"] for name in ("bytes_sent", "virtual_seconds")}
    return rows.assign(**costs, diverged=False)


def with_effect(rows, runs, effect):
    """The rows, with ``effect`` on the logarithm of all that is measured in these runs."""
    level = rows["level"] + effect * rows["run"].isin(runs)
    better = 0.4 * rows["share"] * np.exp(level)
    names = ("consensus_accuracy", "workers_accuracy_mean", "holdout_accuracy")
    actual = dict.fromkeys(names, better)
    losses = ("consensus_loss", "holdout_loss", "workers_loss_mean", "V")
    actual |= {name: np.exp(level) for name in losses}
    return rows.assign(**actual).drop(columns=["level", "share"])


def favoured(claim, rows):
    """The runs of the side of which the claim says something."""
    actual = selected(rows, claim.where)
    if "terms" not in claim.arguments:
        return set(selected(actual, claim.arguments.get("of", {}))["run"])
    parts = [{**term} for term in claim.arguments["terms"]]
    rows = [selected(actual, part) for part in parts if part.pop("weight") > 0]
    return {run for each in rows for run in each["run"]}


def verdict(paper, name, effect):
    claim = replace(planned(paper).ledger.claims[name], gates=())
    tables = {table: made_up(paper)[table] for table in claim.tables}
    runs = favoured(claim, joined(tables, claim.tables))
    tables = {table: with_effect(rows, runs, effect) for table, rows in tables.items()}
    alone = ClaimsFile({name: claim}, {})
    return next(row.verdict for row in judged(alone, tables) if not row.cell)


def of_runs():
    """Each claim that is decided by runs, with its paper: read without a plan, which is slow."""
    for paper in FIELD:
        config = read_config(REPOSITORY / name for name in (BASE, f"papers/{paper}/config.yaml"))
        trained = without_left_out(config)["training"].keys()
        for name, claim in read_claims(REPOSITORY / config["claims"]).claims.items():
            if set(claim.tables) <= trained and not claim.is_pooled:
                yield paper, name


OF_RUNS = list(of_runs())


@pytest.mark.parametrize("paper", FIELD)
def test_a_papers_runs_have_ten_seeds_that_no_trial_has(paper):
    for specs in planned(paper).training.values():
        assert {spec.seed for spec in specs} == set(range(200, 210))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_of_a_claim_is_planned(paper):
    tables = {table for claim in planned(paper).ledger.claims.values() for table in claim.tables}
    assert tables <= {*planned(paper).tables("claims")}


def first_of_a_paper(case):
    return case == next(other for other in OF_RUNS if other[0] == case[0])


@pytest.mark.parametrize(
    ("paper", "name"),
    [case if first_of_a_paper(case) else pytest.param(*case, marks=pytest.mark.slow)
     for case in OF_RUNS],
)  # fmt: skip
def test_a_claim_holds_in_one_world_and_is_reversed_in_another(paper, name, monkeypatch):
    monkeypatch.setattr("verdicts.judging.detectable", lambda *given: math.nan)  # slow, not asked
    expected = planned(paper).ledger.claims[name].expectation
    # A factor of ten at least takes a larger effect than others.
    effect = EFFECT * (8 if expected.margin == 2.3 else 1)
    worlds = {"above": (effect, -effect), "below": (-effect, effect), "near": (0, effect)}
    actual = [verdict(paper, name, effect) for effect in worlds[expected.relation]]
    assert actual[0] == judgement.HOLDS
    assert actual[1] in (judgement.FAILS, judgement.REVERSED)  # a bound fails


@pytest.mark.parametrize("paper", FIELD)
def test_both_sides_of_a_tuned_claim_have_as_many_values(paper):
    for name, claim in planned(paper).ledger.claims.items():
        if name not in dict(map(reversed, OF_RUNS)) or "choose" not in claim.arguments:
            continue
        rows = selected(joined(made_up(paper), claim.tables), claim.where)
        sides = claim.arguments.get("terms") or [claim.arguments["of"], claim.arguments["minus"]]
        sides = [{key: wanted for key, wanted in side.items() if key != "weight"} for side in sides]
        chosen = [selected(rows, side)[claim.arguments["choose"]] for side in sides]
        assert len({len(values.drop_duplicates()) for values in chosen}) == 1, name


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["base_graph", "d_cliques", "equitopo", "exponential"])
def test_every_claim_on_rounds_holds_in_a_few_coordinates(paper):
    """Exact averages and rates hang on the graphs, and hardly on the states."""
    rounds = MEASUREMENTS["rounds"]
    ledger, tables = planned(paper).ledger, {}
    for name, entry in planned(paper).measures["rounds"].items():
        options = replace(rounds.read(name, entry), dimension=8, trials=5)
        tables[f"rounds_{name}"] = rounds.table(options)
    on_rounds = [c.id for c in ledger.claims.values() if {*c.tables} <= {*tables}]
    verdicts = {row.claim: row.verdict for row in judged(ledger, tables)}
    assert {verdicts[claim] for claim in on_rounds} == {judgement.HOLDS}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_filters_of_its_claims_name_columns(folder):
    check_filters(read_claims(REPOSITORY / folder / "claims.yaml"), ())


@pytest.mark.parametrize("folder", TOLD)
def test_its_findings_are_about_claims_of_its_ledger(folder):
    listed = read_findings(REPOSITORY / folder / "findings.yaml")
    told = [claim for topic in listed["topics"] for claim in topic["claims"]]
    asked = [claim for question in listed["questions"] for claim in question["claims"]]
    claims = read_claims(REPOSITORY / folder / "claims.yaml").claims
    assert [claim for claim in (*told, *asked) if claim not in claims] == []
    assert len(told) == len(set(told))
    assert len(asked) == len(set(asked))


NAMES = {
    "MNIST": "mnist",
    "CIFAR-10": "cifar10|CIFAR-10",
    "digits": "digits",
    "non-iid": "shards|noniid|non-iid|dirichlet",
    "iid": "(?<!non)(?<!non-)iid|'equal'",
    "ring": "ring",
    "random graphs": "random",
    "full averages": "'gamma': 1[,}]|full averages",
}
"""Words that name a setting, and what a claim about it has in its data."""


def settings_in(text):
    """The numbers and names of settings in a text; D², CIFAR-10 and names of tables are names."""
    named = [name for name in NAMES if re.search(rf"(?<![\w-]){name}(?![\w])", text)]
    text = re.sub(r"CIFAR-10|Tables? [A-Z]?\d|[Bb]ase-\d|Theorem \d\.\d", "", text)
    return named, re.findall(r"\d+(?:[.,]\d+)*", text)


def unasked(verdicts, listed):
    """The claims with a decided verdict that no question of a file of findings has."""
    asked = {id for asks in listed["questions"] for id in (*asks["claims"], *asks.get("also", ()))}
    decided = (judgement.HOLDS, judgement.FAILS, judgement.REVERSED)
    return [id for id, verdict in verdicts.items() if verdict in decided and id not in asked]


@pytest.mark.parametrize("folder", TOLD)
def test_a_setting_in_a_question_is_that_of_its_claim_and_in_an_answer_stands_in_a_slot(folder):
    claims = read_claims(REPOSITORY / folder / "claims.yaml").claims
    for question in read_findings(REPOSITORY / folder / "findings.yaml")["questions"]:
        answer = re.sub(SLOT, "", f"{question.get('answer', '')} {question.get('short', '')}")
        assert settings_in(answer.replace("ring", "").replace("non-iid data", "")) == ([], [])
        for name, label in question["claims"].items():
            claim = claims[name]
            made = planned(folder.removeprefix("papers/")).training if "papers" in folder else {}
            specs = [spec for table in claim.tables for spec in made.get(table, ())]
            runs = {(spec.dataset, spec.partition) for spec in specs}
            data = f"{vars(claim)} {sorted(runs)}".replace(",000", "000")
            named, numbers = settings_in(re.sub(r"\(.*\)", "", label))  # notes on the paper
            wrong = [each for each in named if not re.search(NAMES[each], data)]
            wrong += [n for n in numbers if not re.search(rf"\b{n.replace(',', '')}\b", data)]
            assert wrong == [], label


def test_each_decided_claim_of_the_paper_is_in_a_question():
    shipped = read_shipped(REPOSITORY / SHIPPED).verdicts
    folder = REPOSITORY / "config/reference"
    claims = read_claims(folder / "claims.yaml").claims
    verdicts = {name: verdict for name, (verdict, _) in shipped.items() if not claims[name].mark}
    listed = read_findings(folder / "findings.yaml")
    assert unasked(verdicts, listed) == []
    assert unasked({"another": "holds", "open": "undecided"}, listed) == ["another"]
