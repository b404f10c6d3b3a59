"""Claims over universes: from tables of a stranger to verdicts."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import refused
from foreign import UNIVERSES, write_universes

import verdicts
from verdicts.claims.universes import universes_of
from verdicts.cli import main
from verdicts.quantities import QUANTITIES
from verdicts.run_values import VALUES, RunValue, at_the_end
from verdicts.table import read_tables
from verdicts.verdict_rows import read_rows

SCORED = UNIVERSES.replace("value: score", "value: made_up_score")
TUNED = {"difference": "", "best_difference": ", choose: [gamma], by: held_out"}


@pytest.fixture
def score(monkeypatch):
    """The column ``score`` as a value whose worst is −∞, as an accuracy's is."""
    monkeypatch.setitem(VALUES, "made_up_score", RunValue(at_the_end("score"), -math.inf))


def judged(folder, difference, claims=UNIVERSES, count=60):
    return verdicts.check(write_universes(folder, difference, count, claims), folder)[0]


def test_a_claim_that_holds_everywhere_is_robust_or_depends_on_a_setting(tmp_path):
    row = judged(tmp_path, lambda settings: 3.0)
    assert row.verdict == "robust"
    assert (row.multiverse.count, row.multiverse.of, row.multiverse.holds) == (54, 60, 54)
    assert row.estimate == pytest.approx(3, abs=0.2)
    assert (row.pairs, row.multiverse.p < 0.001) == (54, True)
    row = judged(tmp_path, lambda settings: 3.0 if settings["step"] <= 0.4 else -2.0)
    assert row.verdict == "depends"
    assert (row.multiverse.rule, row.multiverse.rule_settings) == ("step ≤ 0.4", ("step",))
    assert max(row.multiverse.variance, key=row.multiverse.variance.get) == "step"
    assert row.reason.startswith("on step: holds where step ≤ 0.4 (right in ")


def test_a_row_has_the_p_value_of_its_universes_as_adjusted_in_the_family(tmp_path):
    file = verdicts.read_claims(write_universes(tmp_path, lambda settings: settings["step"] - 0.4))
    tables, (claim,) = read_tables(tmp_path, file.tables), file.claims.values()
    (alone,) = verdicts.judged(file, tables)
    both = {id: replace(claim, id=id, family="both") for id in "ab"}
    rows = verdicts.judged(replace(file, claims=both), tables)
    for row in rows:
        assert row.multiverse.p == row.p_adjusted == pytest.approx(2 * alone.multiverse.p)


def test_every_format_has_the_sentence(tmp_path, capsys):
    claims = write_universes(tmp_path, lambda settings: -3.0)
    arguments = ["check", str(claims), "--tables", str(tmp_path), "--out", str(tmp_path / "o")]
    assert main(arguments) == 0
    said = "the opposite in 54 of 54 universes"
    out = capsys.readouterr().out
    assert out.startswith("reversed   over-settings: B is more accurate than A\n")
    assert said in out
    assert "Of 1 claim, 1 does not.\n" in out
    for suffix in ("md", "html", "json"):
        assert said in (tmp_path / f"o/verdicts.{suffix}").read_text()
    found = json.loads((tmp_path / "o/verdicts.json").read_text())
    assert found["rows"][0]["multiverse"]["reversed"] == 54
    assert found["rows"][0]["multiverse"]["rule_accuracy"] is None
    (row,) = read_rows(tmp_path / "o/verdicts.csv")
    assert (row.multiverse.reversed, row.verdict) == (54, "reversed")
    assert main([*arguments, "--strict"]) == 1


def test_the_universes_of_a_claim_and_the_curve_of_their_effects(tmp_path):
    path = write_universes(tmp_path, lambda settings: 8 * settings["step"] - 4)
    file = verdicts.read_claims(path)
    claim, tables = file.claims["over-settings"], read_tables(tmp_path, file.tables)
    found = universes_of(claim, {}, tables)
    settings = ["universe_step", "universe_rate", "universe_rule"]
    assert list(found) == ["universe", *settings, "seeds", "effect", "why"]
    assert (len(found), set(found["seeds"])) == (60, {0, 2})
    missed = found.loc[found["universe"] == 9, "why"].item()
    assert missed.startswith("the universe does not count: min score is ")
    curve = verdicts.specification_curve(path, tmp_path, "over-settings")
    assert len(curve) == 54
    assert curve["effect"].is_monotonic_increasing
    assert curve["side"].is_monotonic_increasing
    assert set(curve["side"]) == {-1, 0, 1}
    assert "universe_step" in curve


def with_diverged(folder, *where, claims=UNIVERSES):
    """A row where the claim holds, but runs of some methods diverged in some universes."""
    path = write_universes(folder, lambda settings: 3.0, claims=claims)
    table = pd.read_csv(folder / "runs.csv").assign(diverged=False, step=1)
    table["run"] = table["method"] + table["seed"].astype(str)
    for universe, *methods in where:
        table["diverged"] |= (table["universe"] == universe) & table["method"].isin(methods)
    table.to_csv(folder / "runs.csv", index=False)
    return verdicts.check(path, folder)[0], verdicts.read_claims(path).claims["over-settings"]


def test_a_universe_in_which_both_sides_diverged_does_not_count(tmp_path, score):
    row, claim = with_diverged(tmp_path, (3, "A", "B"), (4, "A"), (5, "B"), claims=SCORED)
    assert (row.multiverse.count, row.multiverse.both_diverged, row.infinite) == (53, 1, 2)
    assert (row.multiverse.holds, row.multiverse.reversed, row.multiverse.within) == (52, 1, 0)
    assert "7 more do not count (diverged on both sides: 1)" in row.reason
    found = universes_of(claim, {}, read_tables(tmp_path, ["runs"])).set_index("universe")
    assert found.loc[3, "why"] == "both sides diverged"
    assert list(found.loc[[4, 5], "effect"]) == [math.inf, -math.inf]


@pytest.mark.parametrize("quantity", ["difference", "best_difference"])
def test_all_universes_at_once_are_as_each_alone(tmp_path, score, quantity, monkeypatch):
    chosen = SCORED.replace("quantity: difference", f"quantity: {quantity}").replace(
        "value: made_up_score", "value: made_up_score, over: [graph]" + TUNED[quantity]
    )
    path = write_universes(tmp_path, lambda settings: 8 * settings["step"] - 4, 20, chosen)
    table = pd.read_csv(tmp_path / "runs.csv").assign(step=1)
    graphs = table["universe"].map(lambda universe: ["ring", "random"][universe % 2])
    table = table.assign(graph=graphs, gamma=0.1, held_out=table["score"] + 0.1)
    if TUNED[quantity]:
        better = table.assign(gamma=0.3, held_out=table["score"] + np.where(graphs == "ring", 1, 0))
        table = pd.concat([table, better], ignore_index=True)
    table = table[(table["universe"] != 12) | (table["method"] != "B")]
    table = table.assign(seed=table["seed"] % 2)  # shared by all
    names = table[["method", "seed", "graph", "gamma"]].astype(str).agg("-".join, axis=1)
    lost = (table["universe"] % 7 == 3) & (table["method"] != "whole")
    table = table.assign(run=names, diverged=lost)
    claim = verdicts.read_claims(path).claims["over-settings"]
    entry, calls = QUANTITIES[quantity], []

    def counting(rows, **arguments):
        calls.append(rows["universe"].nunique())
        return entry.function(rows, **arguments)

    def found(many):
        changed = replace(entry, function=counting, many_universes=many)
        monkeypatch.setitem(QUANTITIES, quantity, changed)
        return universes_of(claim, {}, {"runs": table})

    at_once = found(True)
    assert max(calls) > 5
    calls.clear()
    pd.testing.assert_frame_equal(at_once, found(False))
    assert set(calls) == {1}
    assert {"", "both sides diverged"} < set(at_once["why"])


def test_a_claim_whose_universes_all_miss_their_gate_is_out_of_scale(tmp_path):
    row = judged(tmp_path, lambda settings: 3.0, UNIVERSES.replace("above: 60", "above: 99"))
    assert (row.verdict, row.pairs) == ("out of scale", 60)
    assert row.estimate == pytest.approx(3, abs=0.3)
    assert row.reason.startswith("no universe counts: the universe does not count: ")


def test_rows_without_the_name_of_a_universe_are_refused(tmp_path):
    path = write_universes(tmp_path, lambda settings: 3.0)
    rows = pd.read_csv(tmp_path / "runs.csv").astype({"universe": object})
    rows.loc[4, "universe"] = None
    rows.to_csv(tmp_path / "runs.csv", index=False)
    refused(r"^claims.over-settings: a row has no universe.$", verdicts.check, path, tmp_path)
