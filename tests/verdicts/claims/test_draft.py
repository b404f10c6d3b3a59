"""A claims file that is written from a table, and judged as it stands."""

import numpy as np
import pandas as pd
import pytest
from cases import cases

import verdicts
from verdicts.cli import main

ACC = {"accuracy": "acc"}
RENAMED = {"method": "on", "task": "a: b", "accuracy": "{x} #1"}


def table(**columns):
    """Two methods of five seeds on two tasks; B is better by 3."""
    rows = pd.MultiIndex.from_product([["A", "B"], range(5), ["x", "y"]])
    rows = rows.to_frame(index=False, name=["method", "seed", "task"])
    noise = np.random.default_rng(0).normal(0, 0.3, len(rows))
    accuracy = 70 + 3 * (rows["method"] == "B") + noise
    return rows.assign(accuracy=accuracy, **columns)


def drafted(folder, rows, *options):
    """The row of the claim that ``verdicts init`` writes; every other entry is as given."""
    rows.to_csv(folder / "my results.csv", index=False)
    assert main(["init", str(folder / "my results.csv"), *options]) == 0
    (row,) = verdicts.check(folder / "claims.yaml", folder)
    return row


@cases(
    "rows, says, estimate",
    (table(size=7, dropped=None), "B has a higher accuracy than A", 3),
    (table().drop(columns="seed"), "B has a higher accuracy than A", 3),
    (table().rename(columns={"accuracy": "loss"}), "A has a lower loss than B", -3),
    (table().rename(columns={"accuracy": "fid"}), "B has a higher fid than A", 3),
    (table().rename(columns=RENAMED), "B has a higher {x} #1 than A", 3),
    (table().assign(method=lambda t: t["method"] == "B"), "True has a higher acc", 3),
    (table().assign(method=lambda t: "no, " + t["method"]), "no, B has a higher acc", 3),
    (table().assign(task=lambda t: (t["task"] == "x") + 1), "B has a higher acc", 3),
    (table(run=range(20), step=9).rename(columns=ACC), "B has a higher acc than A", 3),
)
def test_the_file_is_judged_as_it_stands(tmp_path, rows, says, estimate):
    row = drafted(tmp_path, rows)
    assert (row.verdict, row.says[: len(says)]) == ("holds", says)
    assert row.estimate == pytest.approx(estimate, abs=0.4)


def test_an_unknown_direction_is_told_with_the_lines_to_change(tmp_path, capsys):
    drafted(tmp_path, table())
    assert "not known" not in capsys.readouterr().out
    (tmp_path / "claims.yaml").unlink()
    drafted(tmp_path, table().rename(columns={"accuracy": "fid"}))
    told = "a high or a low 'fid' is better is not known; if a low one is, line 9 takes the two"
    assert f"{told} lowest, and line 10 is 'below: 0'" in capsys.readouterr().out
    sides, direction = (tmp_path / "claims.yaml").read_text().splitlines()[8:10]
    assert ("minus: {method: A}" in sides, direction[:12]) == (True, "    above: 0")


def test_a_file_that_is_there_stays(tmp_path, capsys):
    drafted(tmp_path, table())
    before = (tmp_path / "claims.yaml").read_bytes()
    assert main(["init", str(tmp_path / "my results.csv")]) == 2
    assert "claims.yaml' is there; name another file with --out." in capsys.readouterr().err
    assert (tmp_path / "claims.yaml").read_bytes() == before


def test_a_table_that_compares_nothing_is_told(tmp_path, capsys):
    for column, said in (("accuracy", "no column of text with"), ("method", "no column of numb")):
        table()[["seed", column]].to_csv(tmp_path / "t.csv", index=False)
        assert main(["init", str(tmp_path / "t.csv")]) == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / "claims.yaml").exists()
