"""Tables in Parquet and CSV files."""

import pandas as pd
import pytest
from foreign import write

import verdicts
from verdicts.cli import main
from verdicts.rows import tables


def test_parquet_and_csv_give_the_same_verdicts(tmp_path):
    rows = verdicts.check(write(tmp_path), tmp_path)
    table = verdicts.as_table(rows)
    pd.read_csv(tmp_path / "scores.csv").to_parquet(tmp_path / "scores.parquet")
    with pytest.raises(verdicts.UserError, match="scores.parquet and scores.csv are both there"):
        verdicts.check(tmp_path / "claims.yaml", tmp_path)
    (tmp_path / "scores.csv").unlink()
    again = verdicts.as_table(verdicts.check(tmp_path / "claims.yaml", tmp_path))
    assert again.equals(table)


def test_tables_that_cannot_be_read_are_named(tmp_path, capsys):
    claims = write(tmp_path)
    (tmp_path / "scores.csv").rename(tmp_path / "scores.parquet")
    assert main(["check", str(claims), "--tables", str(tmp_path)]) == 2
    assert "scores.parquet' can't be read" in capsys.readouterr().err
    assert main(["check", str(claims), "--tables", str(tmp_path / "no")]) == 2
    assert "no' is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch, kind):
    table = pd.DataFrame({"seed": range(1000)})
    path = tmp_path / f"a.{kind}"
    table.to_csv(path) if kind == "csv" else table.to_parquet(path)
    assert len(tables.read_table(path)) == 1000
    monkeypatch.setattr(tables, "MOST_BYTES", 1000)
    with pytest.raises(verdicts.UserError, match=r"a\..* has [0-9,]* bytes; at most 1,000"):
        tables.read_table(path)
