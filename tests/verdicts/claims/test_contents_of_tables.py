"""The rows and columns that claims read: what is refused, and what is judged all the same."""

import re

import pandas as pd
import pytest
import yaml
from cases import cases, mistake_of

import verdicts

SIDES = {"of": {"method": "B"}, "minus": {"method": "A"}, "value": "score"}
CLAIM = {"place": "here", "says": "B beats A", "kind": "order", "from": "t", "above": 0}
CLAIM |= {"quantity": "difference", "with": SIDES}
TWICE = "keep one of them, or give each run a name of its own."


def runs(**changes):
    """Three evaluations of each of eight runs; row 3 is the last of A's first."""
    rows = pd.DataFrame(
        {"method": method, "seed": seed, "run": f"{method}{seed}", "step": step,
         "score": mean + noise + step / 100, "diverged": False}
        for method, mean in (("A", 70), ("B", 73))
        for seed, noise in enumerate([0.3, -0.2, 0.1, -0.4])
        for step in (9, 10, 100)
    ).astype(object)  # fmt: skip
    for name, value in changes.items():
        rows.loc[2, name] = value
    return rows


def check(folder, *tables, kind="csv", optional=("none",), **changes):
    for name, rows in zip("tuv", tables, strict=False):
        if kind == "csv":
            rows.to_csv(folder / f"{name}.csv", index=False)
        else:
            rows.infer_objects().to_parquet(folder / f"{name}.parquet")
    claims = {"c": {**CLAIM, "from": list("tuv")[: len(tables)], **changes}}
    (folder / "claims.yaml").write_text(yaml.safe_dump({"claims": claims, "optional": [*optional]}))
    return verdicts.check(folder / "claims.yaml", folder)


def row(folder, *tables, **changes):
    (found,) = check(folder, *tables, **changes)
    return found


def refused(folder, *tables, **changes):
    return mistake_of(check, folder, *tables, **changes)


@cases(
    "changes, said",
    ({"step": "s9"}, "t.csv: step: 's9' in row 3 is not a whole number."),
    ({"step": "inf"}, "t.csv: step: inf in row 3 is not a whole number."),
    ({"step": None}, "claims.c: a row has no step."),
    ({"seed": 0.5}, "t.csv: seed: 0.5 in row 3 is not a whole number."),
    ({"seed": None}, "claims.c: a row has no seed."),
    ({"run": None}, "claims.c: a row has no run."),
    ({"score": "bad"}, "claims.c: score: 'bad' is not a number."),
    ({"step": 10}, f"claims.c: two rows are of run 'A0' at step 10; {TWICE}"),
)
def test_a_row_that_is_not_what_it_is_read_as_is_refused(tmp_path, changes, said):
    assert refused(tmp_path, runs(**changes)) == said


def test_other_rows_may_be_without_a_run_and_two_sides_or_universes_share_its_name(tmp_path):
    other = {"method": "C", "seed": None, "run": None, "step": None, "score": "bad"}
    rows = pd.concat([runs(), pd.DataFrame([{**other, "diverged": False}])])
    assert row(tmp_path, rows).estimate == pytest.approx(3)
    assert row(tmp_path, runs().assign(run=runs()["seed"])).estimate == pytest.approx(3)
    both = pd.concat([runs().assign(universe=k) for k in (0, 1)])
    assert row(tmp_path, both, where={"universe": 0}).estimate == pytest.approx(3)
    said = refused(tmp_path, both.rename(columns={"universe": "data"}))
    assert said == f"claims.c: two rows are of run 'B0' at step 9; {TWICE}"


def test_the_last_step_is_the_largest_number_not_the_last_text(tmp_path):
    """As text, "9" is after "100"."""
    rows = runs().astype({"step": str, "seed": str})
    rows["score"] = [100 if step == "9" and method == "A" else 1 + (method == "B") for step, method
                     in zip(rows["step"], rows["method"], strict=True)]  # fmt: skip
    assert row(tmp_path, rows, kind="parquet").estimate == pytest.approx(1)


def test_tables_that_have_the_same_run_must_agree(tmp_path):
    assert row(tmp_path, runs(), runs()).estimate == pytest.approx(3)
    said = f"claims.c: two rows are of run 'A0' at step 100; {TWICE}"
    assert refused(tmp_path, runs(), runs(score=0)) == said
    assert row(tmp_path, runs(), runs(score=0, method="C")).estimate == pytest.approx(3)
    a, b = (runs()[runs()["method"] == method] for method in "AB")
    assert refused(tmp_path, a, b.drop(columns="step")) == "claims.c: a row has no step."


def test_a_column_of_times_is_no_number(tmp_path):
    for time in (pd.Timestamp("2026-01-31"), pd.Timedelta(1)):
        said = refused(tmp_path, runs().assign(score=time), kind="parquet")
        assert said.startswith("claims.c: score: it has ")


def test_a_margin_in_points_is_refused_where_accuracies_are_shares_of_one(tmp_path):
    rows = runs().drop(columns="run").query("step == 100").rename(columns={"score": "accuracy"})
    rows["accuracy"] = rows["accuracy"].astype(float) / 100
    how = {"with": {**SIDES, "value": "accuracy"}, "margin": 0.5}
    said = "claims.c.margin: 0.5 is not allowed, it would be 50 points: 'accuracy' is a share of 1"
    assert refused(tmp_path, rows, **how).startswith(said)
    points = rows.assign(accuracy=rows["accuracy"] * 100)
    assert row(tmp_path, points, **how).estimate == pytest.approx(3)


@cases("name", "accuracy", "test_acc", "AUC", "F1 macro")
def test_a_value_in_points_is_refused_where_accuracies_are_shares_of_one(tmp_path, name):
    rows = runs().drop(columns="run").query("step == 100 and method == 'B'")
    rows = rows.rename(columns={"score": name})
    rows[name] = rows[name].astype(float) / 100
    how = {"quantity": "level", "with": {"value": name}}
    said = refused(tmp_path, rows, **how, above=70)
    assert said.startswith("claims.c.above: 70 is not allowed, it would be 7000 points: ")
    said = refused(tmp_path, rows, **how, cells={"x": {"seed": 1, "above": 70}})
    assert said.startswith("claims.c.cells.x.above: 70 is not allowed")
    percent = rows.assign(**{name: 100 * rows[name]})
    said = f"claims.c.above: 0.9 is not allowed, {name!r} is in percent; 0.9 is 90 there."
    assert refused(tmp_path, percent, **how, above=0.9) == said
    assert row(tmp_path, percent, **how, above=50).verdict == "holds"
    assert row(tmp_path, rows, **how, above=0.5).verdict == "holds"


@cases(
    "changes, said",
    ({"with": {**SIDES, "value": "scor"}}, "c.with.value: 'scor' is unknown; .*'score'"),
    ({"with": {**SIDES, "over": ["siz"]}}, "c.with.over: 'siz' is unknown; .*'size'"),
    ({"with": {**SIDES, "of": {"methd": "B"}}}, "c.with.of: 'methd' is unknown; .*'method'"),
    ({"where": {"methd": "B"}}, "c.where: 'methd' is unknown; allowed: .*mean 'method'"),
    ({"cells": {"x": {"siz": 1}}}, "c.cells.x: 'siz' is unknown; .*'size'"),
    ({"quantity": "level", "with": {}}, "c.with.value: 'accuracy' is unknown; allowed: div"),
    ({"with": {**SIDES, "value": {"mean": "score"}}}, "c.with.value: .* needs the column 'run"),
    ({"quantity": "best_difference", "with": {**SIDES, "by": "score"}}, "c.with.choose: 'gam"),
)
def test_a_column_that_is_not_there_is_a_mistake(tmp_path, changes, said):
    rows = runs(size=1).query("step == 100").drop(columns=["run", "step"])
    assert re.match(rf"claims\.{said}", refused(tmp_path, rows, **changes))
    check(tmp_path, rows, optional=["c"], **changes)


@cases(
    "changes, reason",
    ({"from": "tt"}, "there is no table 'tt', only t. Did you mean 't'?"),
    ({"with": {**SIDES, "of": {"method": "BB"}}}, "no rows with method BB, only A, B"),
)
def test_a_claim_whose_table_or_rows_are_not_there_is_not_run(tmp_path, changes, reason):
    found = row(tmp_path, runs(), **changes)
    assert (found.verdict, found.reason) == ("not run", reason)
    assert check(tmp_path, runs(), optional=["c"], **changes) == []
