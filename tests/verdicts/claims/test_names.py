"""Columns and tables that claims name, and text among numbers."""

import pandas as pd
import pytest
import yaml

import verdicts
from verdicts.registry import UserError

CLAIM = {
    "place": "here", "says": "B beats A", "kind": "order", "from": "acc", "above": 0,
    "quantity": "difference",
    "with": {"of": {"method": "B"}, "minus": {"method": "A"}, "value": "score"},
}  # fmt: skip


def table(**changes):
    rows = pd.DataFrame(
        {"method": method, "seed": seed, "score": mean + each, "size": 1}
        for method, mean in (("A", 70), ("B", 73))
        for seed, each in enumerate([0.3, -0.2, 0.1, -0.4])
    )
    return rows.astype(object).assign(**changes)


def check(folder, rows=None, *, strict=False, top=None, **changes):
    (table() if rows is None else rows).to_csv(folder / "acc.csv", index=False)
    claim = {**CLAIM, **changes}
    claim = {key: each for key, each in claim.items() if each is not None}
    (folder / "claims.yaml").write_text(yaml.safe_dump({"claims": {"a": claim}, **(top or {})}))
    return verdicts.check(folder / "claims.yaml", folder, strict=strict)


SIDES = CLAIM["with"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"with": {**SIDES, "value": "scor"}}, "a.with.value: 'scor' is unknown; .*'score'"),
        ({"with": {**SIDES, "over": ["siz"]}}, "a.with.over: 'siz' is unknown; .*'size'"),
        ({"with": {**SIDES, "of": {"methd": "B"}}}, "a.with.of: 'methd' is unknown; .*'method'"),
        ({"where": {"methd": "B"}}, "a.where: 'methd' is unknown; allowed: .*mean 'method'"),
        ({"cells": {"x": {"siz": 1}}}, "a.cells.x: 'siz' is unknown; .*'size'"),
        ({"quantity": "level", "with": {}}, "a.with.value: 'accuracy' is unknown; allowed: meth"),
        ({"with": {**SIDES, "value": {"mean": "score"}}}, "a.with.value: .* needs the column 'run"),
        (
            {"quantity": "best_difference", "with": {**SIDES, "by": "score"}},
            "a.with.choose: 'gamma' is unknown; allowed: method",
        ),
    ],
)
def test_a_column_that_is_not_there_is_a_mistake(tmp_path, changes, said):
    with pytest.raises(UserError, match=rf"^claims\.{said}"):
        check(tmp_path, **changes)
    with pytest.raises(UserError, match=rf"^claims\.{said}"):
        check(tmp_path, **changes, strict=True)
    check(tmp_path, **changes, top={"optional": ["a"]}, strict=True)


def test_a_table_that_is_not_there_is_a_mistake_if_verdicts_are_strict(tmp_path):
    said = "there is no table 'accs', only acc. Did you mean 'acc'?"
    (row,) = check(tmp_path, **{"from": "accs"})
    assert (row.verdict, row.reason) == ("not run", said)
    with pytest.raises(UserError) as caught:
        check(tmp_path, strict=True, **{"from": "accs"})
    assert str(caught.value) == f"claims.a.from: {said}"
    assert check(tmp_path, strict=True, top={"optional": "a"}, **{"from": "accs"}) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"with": {**SIDES, "of": {"method": "BB"}}}, "with.of"),
        ({"cells": {"x": {"method": "BB"}}}, "cells.x"),
        (
            {
                "quantity": "contrast",
                "with": {"terms": [{"weight": 1, "method": "BB"}], "value": "score"},
            },
            "with.terms",
        ),
    ],
)
def test_a_text_that_no_row_has_is_a_mistake_if_verdicts_are_strict(tmp_path, changes, said):
    check(tmp_path, **changes)
    with pytest.raises(UserError) as caught:
        check(tmp_path, strict=True, **changes)
    assert str(caught.value) == (
        f"claims.a.{said}: method: no row has 'BB', only A, B. Did you mean 'B'?"
    )
    check(tmp_path, strict=True, top={"optional": ["a"]}, **changes)


def test_a_table_without_seeds_is_named(tmp_path):
    rows = table().rename(columns={"seed": "sed"})
    with pytest.raises(UserError) as caught:
        check(tmp_path, rows)
    assert str(caught.value) == (
        "acc.csv: there is no column 'seed', which pairs runs. Did you mean 'sed'?"
    )


def test_a_column_of_accuracies_of_at_most_one_is_a_share(tmp_path):
    rows = table()
    rows["accuracy"] = rows["score"] / 100
    given = {"with": {**SIDES, "value": "accuracy"}, "margin": 0.5}
    with pytest.raises(UserError, match="it would be 50 points: 'accuracy' is a share of 1"):
        check(tmp_path, rows, **given)
    (row,) = check(tmp_path, rows, **given, unit="share of 1")
    assert row.measured == "0.03 share of 1"
    rows["accuracy"] = rows["score"]
    assert [row.measured for row in check(tmp_path, rows, **given)] == ["3"]
