"""Judging: each claim of a file with a verdict, and the seeds that are left out."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from cases import refused
from quantities_for_tests import quantities, write  # noqa: F401

import verdicts
from verdicts.claims.claims_file import read_claims
from verdicts.judging import judged as judge
from verdicts.quantities import QUANTITIES, Quantity
from verdicts.registry import UserError
from verdicts.verdict_rows import as_table

pytestmark = pytest.mark.usefixtures("quantities")

NOISE = [-1.2, -0.5, 0.1, 0.4, 1.2]
RING, COMPLETE = {"topology": "ring"}, {"topology": "complete"}
CELLS = {"ring": RING, "complete": COMPLETE}
HIGH = {"column": "score", "take": "min", "above": 2, "else": "untrained"}
SIDES = {"of": {"method": "b"}, "minus": {"method": "a"}, "value": "score"}


def runs(mean, topology="ring", dataset="mnist", noise=NOISE):
    """The last of two evaluations is ``mean`` and noise."""
    return pd.DataFrame(
        {
            "run": f"{dataset}-{topology}-{seed}", "seed": seed, "step": step,
            "dataset": dataset, "topology": topology, "score": step / 9 * (mean + each),
        }
        for seed, each in enumerate(noise) for step in (0, 9)
    )  # fmt: skip


def judged(path, tables, claims, gates=None):
    """The rows of verdicts, by claim and cell."""
    if isinstance(tables, pd.DataFrame):
        tables = {"t": tables}
    found = judge(read_claims(write(path / "c.yaml", claims, gates)), tables)
    return as_table(found).set_index(["claim", "cell"])


def test_a_claim_is_judged_from_its_rows(tmp_path):
    tables = [runs(3), runs(-9, "complete"), runs(-9, dataset="digits")]
    tables = pd.concat(tables, ignore_index=True)
    where = {"dataset": "mnist", "topology": "ring"}
    row = judged(tmp_path, tables, {"a": {"where": where, "unit": "points"}}).loc["a", ""]
    assert (row["verdict"], row["reason"], row["pairs"]) == ("holds", "", 5)
    assert row["estimate"] == pytest.approx(3)
    assert row["low"] < 3 < row["high"]
    assert (row["p"], row["p_adjusted"]) == (row["p_t"], row["p_t"])
    assert 0 < row["detectable"] < 2
    assert row["seeds_needed"] == 3
    assert row[["unit", "relation", "expected"]].tolist() == ["points", "above", 0]
    assert row["family_size"] == 1


def test_a_family_is_adjusted_together_and_cells_within_their_claim(tmp_path):
    tables = pd.concat([runs(1.3), runs(0.1, "complete")], ignore_index=True)
    claims = {"a": {"where": RING, "family": "f", "cells": {"again": {}}}}
    claims["b"] = {"where": COMPLETE, "family": "f"}
    claims |= {"c": {"where": RING}, "d": {"cells": CELLS}}
    found = judged(tmp_path, tables, claims)
    names = ["/".join(each) for each in found.index]
    assert names == ["a/", "a/again", "b/", "c/", "d/", "d/ring", "d/complete"]
    some = [("c", ""), ("a", "again"), ("a", ""), ("d", "ring")]
    assert found.loc[some, "verdict"].tolist() == ["holds", "holds", "undecided", "undecided"]
    assert found.loc[("a", ""), "p_adjusted"] == pytest.approx(2 * found.loc[("c", ""), "p"])
    assert found.loc[("d", "ring"), "family_size"] == 2
    assert found.loc[("a", ""), "detectable"] > found.loc[("c", ""), "detectable"]


def test_an_optional_claim_that_is_not_run_has_no_row(tmp_path):
    absent = {"where": {"dataset": "cifar10"}}
    claims = {"a": absent, "a-demo": absent, "b-demo": {}}
    claims["c-demo-d"] = {**absent, "cells": {"e": {}}}
    file = write(tmp_path / "c.yaml", claims)
    every = judge(read_claims(file), {"t": runs(3)})
    assert {row.claim for row in every} == {*claims}
    file.write_text(file.read_text() + 'optional: ["*-demo", "*-demo-*"]\n')
    rows = judge(read_claims(file), {"t": runs(3)})
    assert [(row.claim, row.verdict) for row in rows] == [("a", "not run"), ("b-demo", "holds")]
    file.write_text(file.read_text().replace('["*-demo", "*-demo-*"]', "[1]"))
    refused("^optional: ", read_claims, file)


def pool(**changes):
    return {"quantity": "pooled", "from": None, "with": {"claims": ["a", "b"]}, **changes}


def test_a_pooled_claim_is_judged_by_the_mean_of_each_seed(tmp_path):
    noise = np.array(NOISE)
    tables = pd.concat([runs(3), runs(-2, "complete", noise=noise**2)], ignore_index=True)
    claims = {"a": {"where": RING, "above": 1}, "pool": pool()}
    claims["b"] = {"where": COMPLETE, "above": None, "below": 0.5}
    row = judged(tmp_path, tables, claims).loc["pool", ""]
    values = ((3 + noise - 1) + (0.5 - (-2 + noise**2))) / 2  # each counts on its claimed side
    assert (row["pairs"], row["verdict"]) == (5, "holds")
    assert row["estimate"] == pytest.approx(values.mean())
    half = scipy.stats.t.ppf(0.975, 4) * values.std(ddof=1) / 5**0.5
    assert row["high"] == pytest.approx(values.mean() + half)


def test_a_claim_about_every_cell(tmp_path):
    number = {"kind": "number", "above": None, "every_cell": True}
    claims = {"all": {"cells": CELLS, "every_cell": True}}
    claims["own"] = {**number, "cells": {"ring": {**RING, "paper": 3}}}
    found = judged(tmp_path, pd.concat([runs(4), runs(-4, "complete")], ignore_index=True), claims)
    assert found.loc[("all", ""), "reason"] == "of 2 cells: holds in 1, reversed in 1"
    assert math.isnan(found.loc[("all", ""), "estimate"])
    found = judged(tmp_path, pd.concat([runs(3), runs(5, "complete")], ignore_index=True), claims)
    assert found.loc[("all", ""), "verdict"] == "holds"
    own = found.loc[("own", "ring")]
    assert own[["relation", "expected"]].tolist() == ["paper", 3]
    assert found.loc[("own", ""), "verdict"] == own["verdict"] == "consistent"


def test_the_seeds_of_a_claim_say_which_look_it_is_at(tmp_path):
    table = runs(3, noise=[0.3, -0.8, 1.1, -0.6, 0.5, 1.3])
    claims = {"a": {}, "b": {"looks": [3, 6, 9]}, "c": {"looks": [5, 10]}, "d": {"looks": [10]}}
    found = judged(tmp_path, table.sample(frac=1, random_state=0), claims)
    assert found["pairs"].tolist() == [6, 6, 5, 6]
    assert found["looks"].fillna(-1).tolist() == [-1, 2, 1, 0]
    assert found["verdict"].tolist() == ["holds", "holds", "holds", "undecided"]
    assert found.loc[("d", ""), "reason"] == "6 of the 10 seeds of the first look"
    assert found["next_look"].fillna(-1).tolist() == [-1, -1, -1, 10]
    plain = judged(tmp_path, runs(3, noise=[0.3, -0.8, 1.1, -0.6, 0.5]), {"a": {}}).loc["a", ""]
    assert found.loc[("c", ""), "p"] == pytest.approx(2 * plain["p"])


def test_what_cannot_be_decided_is_not_run(tmp_path):
    claims = {"a": {"where": {"dataset": "cifar10"}}, "b": {"with": {"value": "V"}}}
    found = judged(tmp_path, runs(3), claims)
    told = ["not trained on cifar10, but on mnist", "there is no column 'V'"]
    assert found["reason"].tolist() == told
    assert set(found["verdict"]) == {"not run"}
    assert found["estimate"].isna().all()


def test_what_misses_a_gate_is_out_of_scale_with_its_numbers_and_without_its_family(tmp_path):
    tables = pd.concat([runs(3), runs(-3, "complete")], ignore_index=True)
    claims = {"a": {"family": "f", "where": RING, "cells": {"mnist": {"dataset": "mnist"}}}}
    claims["b"] = {"family": "f", "where": COMPLETE}
    plain = judged(tmp_path, tables, {"a": {**claims["a"], "family": "a"}, "b": {}})
    claims["a"]["gate"] = "high"
    claims["pool"] = pool(**{"with": {"claims": ["a"]}})
    found = judged(tmp_path, tables, claims, {"high": HIGH})
    numbers = ["estimate", "low", "high", "pairs", "p_adjusted"]
    for key in (("a", ""), ("a", "mnist")):
        row = found.loc[key]
        told = "untrained: min score is 1.8, must be above 2"
        assert (row["verdict"], row["reason"]) == ("out of scale", told)
        assert row[numbers].tolist() == plain.loc[key][numbers].tolist()
    assert found.loc[("b", ""), "family_size"] == 1
    pooled = found.loc["pool", ""]
    assert (pooled["verdict"], pooled["reason"]) == ("out of scale", f"{told} (a)")
    assert pooled["estimate"] == pytest.approx(3)


def test_cells_that_miss_a_gate_do_not_count_in_a_claim_about_every_cell(tmp_path):
    tables = pd.concat([runs(3), runs(9, "complete")], ignore_index=True)
    claim = {"cells": CELLS, "every_cell": True, "gate": "g"}
    found = judged(tmp_path, tables, {"a": claim}, {"g": {**HIGH, "take": "mean", "above": 4}})
    assert found["verdict"].tolist() == ["undecided", "out of scale", "holds"]
    assert found.loc[("a", ""), "reason"] == "of 2 cells: holds in 1, out of scale in 1"
    found = judged(tmp_path, tables, {"a": claim}, {"g": {**HIGH, "above": 99}})
    assert set(found["verdict"]) == {"out of scale"}
    assert found["reason"].str.startswith("untrained: min score is ").all()


def test_a_late_gate_shows_the_verdict_without_it_and_leaves_its_family_alone(tmp_path):
    tables = pd.concat([runs(3), runs(-3, "complete")], ignore_index=True)
    claims = {"a": {"family": "f", "margin": 9, "where": RING}, "c": {"where": RING, "gate": "met"}}
    claims["a"]["cells"] = {"mnist": {"dataset": "mnist"}}
    claims["b"] = {"family": "f", "where": COMPLETE}
    plain = judged(tmp_path, tables, {"a": claims["a"], "b": claims["b"]})
    gate = {"column": "score", "take": "min", "above": 2, "else": "small", "late": "2026-01-31"}
    claims["a"]["gate"] = "late"
    found = judged(tmp_path, tables, claims, {"late": gate, "met": {**gate, "above": 1}})
    numbers = ["estimate", "low", "high", "p_adjusted", "family_size"]
    for cell in ("", "mnist"):
        row, before = found.loc["a", cell], plain.loc[("a", cell)]
        assert row["verdict"] == "out of scale"
        assert row["reason"].startswith("small: min score is 1.8, must be above 2; the gate was ")
        assert row["reason"].endswith(f"without it: {before['verdict']}")
        assert row[numbers].tolist() == before[numbers].tolist()
    assert found.loc[("b", ""), "p_adjusted"] == plain.loc[("b", ""), "p_adjusted"]
    assert found.loc[("c", ""), "verdict"] == "holds"


def test_cases_are_met_or_not_and_an_exact_value_decides(tmp_path):
    table = pd.DataFrame({"case": ["n = 2", "n = 5"], "score": [1.0, 3.0]})
    claim = {"quantity": "within", "above": None, "kind": "bound"}
    claims = {"a": {**claim, "with": {"limit": 2}}, "b": {**claim, "with": {"limit": 3}}}
    found = judged(tmp_path, table, claims)
    assert found["verdict"].tolist() == ["fails", "holds"]
    assert found.loc[("a", ""), ["met", "cases"]].tolist() == [1, 2]
    assert found.loc[("a", ""), "reason"] == "met in 1 of 2 cases; not in n = 5"
    bytes_ = runs(0, noise=[40.0]).assign(score=40.0)
    claims = {"a": {"exact": True, "above": 39}, "b": {"exact": True, "above": 41}, "c": {}}
    found = judged(tmp_path, bytes_, claims)
    assert found["verdict"].tolist() == ["holds", "reversed", "undecided"]
    assert found["reason"].tolist()[:2] == ["exact: its value decides"] * 2
    with pytest.raises(UserError, match=r"^claims\.a\.exact: its seeds differ \(5 seeds, [^\n]*$"):
        judged(tmp_path, runs(3), {"a": {"exact": True}})


@pytest.mark.parametrize("cases", [True, False])
def test_a_quantity_that_returns_something_else_is_named(tmp_path, monkeypatch, cases):
    twice = Quantity("end", lambda rows: pd.Series([1.0, 2.0], index=[0, 0]), cases=cases)
    monkeypatch.setitem(QUANTITIES, "end", twice)
    with pytest.raises(UserError, match=r"claims\.a\.quantity: 'end' must return (one|a tab)"):
        judged(tmp_path, runs(3), {"a": {"above": None if cases else 0}})


def compared(path, rows, **changes):
    """The verdict on a difference of two methods."""
    claims = {"x": {"quantity": "difference", "with": SIDES, "unit": "points", **changes}}
    return as_table(judge(read_claims(write(path / "c.yaml", claims)), {"t": rows})).iloc[0]


@pytest.mark.parametrize("with_runs", [False, True])
def test_a_diverged_run_counts_against_its_side_with_and_without_runs(tmp_path, with_runs):
    rows = two_methods(seeds=10)
    if with_runs:
        rows = rows.assign(run=rows["method"] + rows["seed"].astype(str), step=1)
    assert compared(tmp_path, rows)["verdict"] == "holds"
    ours = rows["method"] == "b"
    row = compared(tmp_path, rows.assign(diverged=ours))
    assert (row["verdict"], row["infinite"], row["estimate"]) == ("reversed", 10, -math.inf)
    told = "in 10 of 10 seeds runs diverged, and count against their side (high is best)"
    assert row["reason"] == told
    row = compared(tmp_path, rows.assign(diverged=~ours))
    assert (row["verdict"], row["estimate"]) == ("holds", math.inf)


def test_a_column_of_numbers_and_none_shows_what_diverged():
    rows = pd.MultiIndex.from_product([range(8), ["A", "B"], [1, 2]])
    rows = rows.to_frame(index=False, name=["seed", "m", "step"])
    rows["run"] = rows["m"] + rows["seed"].astype(str)
    lost = (rows["m"] == "A") & (rows["step"] == 2) & (rows["seed"] < 3)
    rows["nll"] = (rows["seed"] + rows["step"] + (rows["m"] == "A")).astype(object).mask(lost, None)
    of, minus = {"m": "A"}, {"m": "B"}
    for table in (rows.astype({"nll": object}), rows.astype({"nll": float})):
        found = verdicts.judge(table, of=of, minus=minus, value="nll", above=0)
        assert repr(found) == str(found)
        assert found.rows[0].infinite == 3
        assert "in 3 of 8 seeds runs diverged" in found.rows[0].reason


def test_seeds_without_a_value_or_with_two_diverged_sides_are_named(tmp_path):
    rows = two_methods(seeds=10)
    lost = rows["seed"].isin([1, 6]) | ((rows["method"] == "b") & (rows["seed"] == 2))
    row = compared(tmp_path, rows.assign(diverged=lost))
    assert (row["pairs"], row["infinite"]) == (8, 1)
    assert row["reason"].endswith("seeds 1, 6 are left out: both sides diverged")
    rows = two_methods()
    assert compared(tmp_path, rows)["reason"] == ""
    rows.loc[1, "score"] = math.nan
    row = compared(tmp_path, rows)
    assert (row["pairs"], row["reason"]) == (4, "seed 1 is left out: no score in 1 row")
    rows.loc[[1, 2, 7], "score"] = math.nan
    reason = compared(tmp_path, rows.drop(4))["reason"]
    told = "seeds 1, 2 are left out: no score in 3 rows; seed 4 is left out: a run to compare with"
    assert told in reason


def ratio_of_V(path, ours, theirs, **changes):
    """The verdict on a log ratio of V, of one run a seed and method."""
    rows = pd.DataFrame(
        {"method": method, "seed": seed, "V": V}
        for method, values in (("b", ours), ("a", theirs))
        for seed, V in enumerate(values)
    )
    sides = {"of": {"method": "b"}, "to": {"method": "a"}, "value": "V"}
    claim = {"quantity": "log_ratio", "with": sides, **changes}
    claims = read_claims(write(path / "c.yaml", {"x": claim}))
    rows["diverged"] = rows["V"] == math.inf
    return as_table(judge(claims, {"t": rows})).iloc[0]


@pytest.mark.parametrize("looks", [None, [7]])
def test_a_value_of_0_has_not_diverged(tmp_path, looks):
    row = ratio_of_V(tmp_path, [0.1, 0.2, 0.1, 0.3, 0.1, 0.1, 0.4], [0.0] * 7, looks=looks)
    assert (row["verdict"], row["estimate"]) == ("holds", math.inf)
    assert row["reason"] == "in 7 of 7 seeds V is 0, and its logarithm (−∞) decides the seed"
    some = [math.inf, 0.2, 0.1, 0.3, 0.1, 0.1, 0.4, 0.0]
    row = ratio_of_V(tmp_path, some, [0.1, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0], looks=looks)
    assert "runs diverged, and count against their side (low is best); in 1 of " in row["reason"]
    assert row["reason"].endswith("seed 7 is left out: V is 0 on both sides")


def two_methods(seeds=5):
    noise = np.resize(NOISE, seeds)
    rows = pd.DataFrame({"method": ["a"] * seeds + ["b"] * seeds, "seed": [*range(seeds)] * 2})
    score = np.concatenate([1 + noise, 4 + noise]) + rows.index**2 / 100
    return rows.assign(score=score)
