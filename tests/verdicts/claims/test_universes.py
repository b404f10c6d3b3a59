"""Claims over universes: from tables of a stranger to verdicts."""

import json

import pandas as pd
import pytest
from conftest import REPOSITORY
from foreign import UNIVERSES, write_universes

import verdicts
from verdicts.claims.universes import specification_curve, universes_of
from verdicts.cli import main
from verdicts.row import read_rows
from verdicts.rows.tables import read_tables


def judged(folder, difference, claims=UNIVERSES, count=60):
    return verdicts.check(write_universes(folder, difference, count, claims), folder)[0]


def test_a_claim_that_holds_everywhere_is_robust(tmp_path):
    row = judged(tmp_path, lambda settings: 3.0)
    assert row.verdict == "robust"
    assert (row.multiverse.count, row.multiverse.of, row.multiverse.holds) == (54, 60, 54)
    assert row.estimate == pytest.approx(3, abs=0.2)
    assert (row.pairs, row.multiverse.p < 0.001) == (54, True)


def test_a_claim_that_depends_on_a_setting_says_on_which(tmp_path):
    row = judged(tmp_path, lambda settings: 3.0 if settings["step"] <= 0.4 else -2.0)
    assert row.verdict == "depends"
    assert (row.multiverse.rule, row.multiverse.rule_settings) == ("step ≤ 0.4", ("step",))
    assert max(row.multiverse.variance, key=row.multiverse.variance.get) == "step"
    assert row.reason.startswith("on step: holds where step ≤ 0.4 (right in ")


def test_every_format_has_the_sentence(tmp_path, capsys):
    claims = write_universes(tmp_path, lambda settings: -3.0)
    arguments = ["check", str(claims), "--tables", str(tmp_path), "--out", str(tmp_path / "o")]
    assert main(arguments) == 0
    said = "the opposite holds beyond the margin in 54 of 54 universes"
    out = capsys.readouterr().out
    assert out.startswith("reversed   over-settings: B is more accurate than A\n")
    assert said in out
    assert "0 are not run, and 1 is reversed." in out
    for suffix in ("md", "html", "json"):
        assert said in (tmp_path / f"o/verdicts.{suffix}").read_text()
    found = json.loads((tmp_path / "o/verdicts.json").read_text())
    assert found["rows"][0]["multiverse"]["reversed"] == 54
    assert found["rows"][0]["multiverse"]["rule_accuracy"] is None
    (row,) = read_rows(tmp_path / "o/verdicts.csv")
    assert (row.multiverse.reversed, row.verdict) == (54, "reversed")
    assert main([*arguments, "--strict"]) == 1


def test_the_example_of_the_readme(tmp_path, capsys):
    text = (REPOSITORY / "src/verdicts/README.md").read_text().partition("## Over settings")[2]
    claims, _, rest = text.partition("```yaml\n")[2].partition("```")
    path = write_universes(tmp_path, lambda own: 3.0 if own["step"] <= 0.4 else -2.0, 200, claims)
    assert main(["check", str(path), "--tables", str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    command, *output = rest.partition("`row.multiverse`")[0].strip().splitlines()
    assert command == "$ verdicts check claims.yaml --tables results/"
    assert " ".join(output).split() == " ".join(printed[:2]).split()
    curve = verdicts.specification_curve(path, tmp_path, "b-over-a")
    assert set(curve["side"]) == {-1, 1}
    with pytest.raises(verdicts.UserError, match="'b-over' is unknown; allowed: b-over-a"):
        verdicts.specification_curve(path, tmp_path, "b-over")


def claim_and_tables(folder, difference):
    file = verdicts.read_claims(write_universes(folder, difference))
    return file.claims["over-settings"], read_tables(folder, file.tables)


def test_the_universes_of_a_claim(tmp_path):
    claim, tables = claim_and_tables(tmp_path, lambda settings: 3.0)
    found = universes_of(claim, {}, tables)
    assert list(found) == [
        "universe", "universe_step", "universe_rate", "universe_rule", "seeds", "effect", "why"
    ]  # fmt: skip
    assert (len(found), set(found["seeds"])) == (60, {0, 2})
    missed = found.loc[found["universe"] == 9, "why"].item()
    assert missed.startswith("the universe does not count: min score is ")


def test_the_specification_curve_is_sorted_by_effect(tmp_path):
    claim, tables = claim_and_tables(tmp_path, lambda settings: 8 * settings["step"] - 4)
    curve = specification_curve(claim, tables)
    assert len(curve) == 54
    assert curve["effect"].is_monotonic_increasing
    assert curve["side"].is_monotonic_increasing
    assert set(curve["side"]) == {-1, 0, 1}
    assert "universe_step" in curve


def test_a_universe_without_its_runs_does_not_count(tmp_path):
    path = write_universes(tmp_path, lambda settings: 3.0)
    table = pd.read_csv(tmp_path / "runs.csv")
    lost = (table["universe"] == 3) & (table["method"] == "B")
    table[~lost].to_csv(tmp_path / "runs.csv", index=False)
    assert verdicts.check(path, tmp_path)[0].multiverse.count == 53


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("universes: {", "universes: {settings: [stepp], "), "there is no column 'universe_stepp'."
         " Did you mean 'universe_step'?"),
        (("above: 60", "above: 99"), "no universe counts: the universe does not count: "),
        (("column: score", "column: scor"), "no universe counts: gate universes: there is no col"),
    ],
)  # fmt: skip
def test_a_claim_that_can_not_be_judged_is_not_run(tmp_path, change, reason):
    row = judged(tmp_path, lambda settings: 3.0, UNIVERSES.replace(*change))
    assert row.verdict == "not run"
    assert row.reason.startswith(reason)


def test_a_universe_has_one_value_of_each_setting(tmp_path):
    path = write_universes(tmp_path, lambda settings: 3.0)
    table = pd.read_csv(tmp_path / "runs.csv")
    table.loc[(table["universe"] == 3) & (table["method"] == "B"), "universe_rate"] = 0.7
    table.to_csv(tmp_path / "runs.csv", index=False)
    row = verdicts.check(path, tmp_path)[0]
    assert (row.verdict, row.reason) == (
        "not run", "universe 3 has more than one value of 'universe_rate'"
    )  # fmt: skip


def test_a_table_without_universes_is_not_run(tmp_path):
    path = write_universes(tmp_path, lambda settings: 3.0)
    table = pd.read_csv(tmp_path / "runs.csv")
    table.drop(columns="universe").to_csv(tmp_path / "runs.csv", index=False)
    row = verdicts.check(path, tmp_path)[0]
    assert (row.verdict, row.reason.startswith("there is no column 'universe'.")) == (
        "not run", True
    )  # fmt: skip


def test_settings_may_be_named_and_cells_have_universes_too(tmp_path):
    changed = UNIVERSES.replace("universes: {", "universes: {settings: [rate, rule], ").replace(
        "unit: points", "unit: points, cells: {adam: {universe_rule: adam}}"
    )
    path = write_universes(
        tmp_path, lambda settings: 3.0 if settings["step"] <= 0.4 else -2.0, claims=changed
    )
    whole, cell = verdicts.check(path, tmp_path)
    assert whole.verdict == "undecided"
    assert set(whole.multiverse.variance) == {"rate", "rule"}
    assert cell.multiverse.of < 40


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("universes: {gate", "universes: {gat"), "claims.over-settings.universes: 'gat' is unkn"),
        (("take: min, ", ""), "claims.over-settings.universes.gate: 'take' is missing."),
        (("take: min", "from: runs, take: min"), "claims.over-settings.universes.gate: 'from' is "),
        (("above: 60", "upper: 60"), "claims.over-settings.universes.gate: 'upper' is unknown"),
        (("universes: {", "looks: [3, 6], universes: {"), "claims.over-settings.looks: not allowe"),
        (("universes: {", "every_cell: true, cells: {a: {}}, universes: {"),
         "claims.over-settings.every_cell: not allowed with 'universes'"),
        (("universes: {gate", "universes: {settings: 3, gate"),
         "claims.over-settings.universes.settings: 3 is not allowed"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tmp_path, change, said):
    with pytest.raises(verdicts.UserError) as error:
        verdicts.read_claims(
            write_universes(tmp_path, lambda settings: 0.0, 1, UNIVERSES.replace(*change))
        )
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_universes_are_for_claims_with_a_direction(tmp_path):
    near = UNIVERSES.replace("kind: order", "kind: equality").replace("above: 0", "near: 0")
    with pytest.raises(verdicts.UserError, match=r"over-settings\.universes: it needs a quantity"):
        verdicts.read_claims(write_universes(tmp_path, lambda settings: 0.0, 1, near))
