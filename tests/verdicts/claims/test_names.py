"""Columns and tables that claims name."""

import pandas as pd
import pytest
import yaml

import verdicts
from verdicts.registry import UserError

SIDES = {"of": {"method": "B"}, "minus": {"method": "A"}, "value": "score"}
CLAIM = {
    "place": "here", "says": "B beats A", "kind": "order", "from": "acc", "above": 0,
    "quantity": "difference", "with": SIDES,
}  # fmt: skip


def check(folder, optional=(), **changes):
    pd.DataFrame(
        {"method": method, "seed": seed, "score": mean + noise, "size": 1}
        for method, mean in (("A", 70), ("B", 73))
        for seed, noise in enumerate([0.3, -0.2, 0.1, -0.4])
    ).to_csv(folder / "acc.csv", index=False)
    content = {"claims": {"a": {**CLAIM, **changes}}, "optional": list(optional) or ["none"]}
    (folder / "claims.yaml").write_text(yaml.safe_dump(content))
    return verdicts.check(folder / "claims.yaml", folder)


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
    check(tmp_path, optional=["a"], **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"from": "accs"}, "there is no table 'accs', only acc. Did you mean 'acc'?"),
        ({"with": {**SIDES, "of": {"method": "BB"}}}, "no rows with method BB, only A, B"),
    ],
)
def test_a_claim_whose_table_or_rows_are_not_there_is_not_run(tmp_path, changes, reason):
    (row,) = check(tmp_path, **changes)
    assert (row.verdict, row.reason) == ("not run", reason)
    assert check(tmp_path, optional=["a"], **changes) == []
