"""Tables in Parquet and CSV files."""

import decimal
import os
import re

import pandas as pd
import pyarrow as pa
import pytest
from cases import cases, refused
from foreign import write
from pyarrow import parquet

import verdicts
from verdicts import table as tables

CSV = "method,seed,score\nA,0,70.5\nB,1,73.25\n"


def test_parquet_and_csv_give_the_same_verdicts(tmp_path):
    table = verdicts.as_table(verdicts.check(write(tmp_path), tmp_path))
    pd.read_csv(tmp_path / "scores.csv").to_parquet(tmp_path / "scores.parquet")
    with pytest.raises(verdicts.UserError, match="scores.parquet and scores.csv are both there"):
        verdicts.check(tmp_path / "claims.yaml", tmp_path)
    (tmp_path / "scores.csv").unlink()
    assert verdicts.as_table(verdicts.check(tmp_path / "claims.yaml", tmp_path)).equals(table)


def test_tables_that_cannot_be_read_are_named(tmp_path):
    claims = write(tmp_path)
    (tmp_path / "scores.csv").rename(tmp_path / "scores.parquet")
    refused(r"scores\.parquet' can't be read", verdicts.check, claims, tmp_path)
    refused("no' is not a folder", verdicts.check, claims, tmp_path / "no")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch, kind):
    table = pd.DataFrame({"seed": range(1000)})
    path = tmp_path / f"a.{kind}"
    table.to_csv(path) if kind == "csv" else table.to_parquet(path)
    assert len(tables.read_table(path)) == 1000
    monkeypatch.setattr(tables, "MOST_BYTES", 1000)
    refused(r"a\..* has [0-9,]* bytes; at most 1,000", tables.read_table, path)


def as_csv(folder, text):
    """The table that is read from a CSV file with this text, or bytes."""
    (folder / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return tables.read_table(folder / "a.csv")


def test_line_ends_do_not_matter_and_no_column_is_an_index(tmp_path):
    ends = "\ufeff" + CSV.replace("\n", "\r\n"), CSV.replace("\n", "\n\n")
    for text in (*ends, CSV.replace("70.5", '"70.5"')):
        pd.testing.assert_frame_equal(as_csv(tmp_path, text), as_csv(tmp_path, CSV))
    assert list(as_csv(tmp_path, ",seed,score\n7,0,70\n8,1,71\n")["seed"]) == [0, 1]
    frame = pd.DataFrame({"seed": [3, 1, 7], "score": [70, 71, 72]}).set_index("seed")
    frame.to_parquet(tmp_path / "a.parquet")
    assert list(tables.read_table(tmp_path / "a.parquet")["seed"]) == [3, 1, 7]


def test_texts_have_no_outer_spaces_and_an_index_with_names_is_columns(tmp_path):
    table = as_csv(tmp_path, "method,score\nA ,1\n A,2\n  ,3\n")
    assert table["method"].fillna("-").tolist() == ["A", "A", "-"]
    plain = pd.DataFrame({"method": [*"AAABBB"], "seed": [0, 1, 2] * 2, "score": range(6)})
    for index in ("seed", ["method", "seed"]):
        found = tables.of_frame(plain.set_index(index))
        assert found[plain.columns].equals(plain)
    assert list(tables.of_frame(plain.set_index("seed", drop=False))) == list(plain)


@cases(
    "text, said",
    ("a,b,c\n1,2,3,\n1,2,3,\n", "a.csv: the header has 3 fields, and row 1 has 4."),
    ("a,b,c\n\n1,2,3\n1\n", "a.csv: the header has 3 fields, and row 2 has 1."),
    ("a\tb\n1\t2\n", "a.csv: columns are separated by '\\t'; use commas."),
    ("a,b,a\n1,2,3\n", "a.csv: two columns are called 'a'; rename one."),
    ("", "a.csv: it has no columns."),
    ('a,b\n1,"2\n', "can't be read: unexpected end of data."),
    ("a,b\n1,\0\n", "can't be read: it has a NUL character."),
    (b"a,b\n1,\xe9\n", "can't be read: it is not text in UTF-8."),
)
def test_a_csv_file_that_is_no_table_is_refused_in_one_line(tmp_path, text, said):
    refused(re.escape(said) + "$", as_csv, tmp_path, text)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    for table, reason in ((twice, "two columns are called 'a'"), (pa.table({}), "has no columns")):
        parquet.write_table(table, tmp_path / "a.parquet")
        refused(reason, tables.read_table, tmp_path / "a.parquet")


def as_parquet(folder, **columns):
    """The table that is read from a Parquet file with these columns."""
    parquet.write_table(pa.table(columns), folder / "a.parquet")
    return tables.read_table(folder / "a.parquet")


def test_columns_of_parquet_files_are_numbers_text_booleans_or_times(tmp_path):
    columns = {"decimal": [decimal.Decimal("1.5"), None], "gaps": [1, None]}
    columns["lists"] = [[1, 2], None]
    columns["category"] = pa.array(["a", "b"]).dictionary_encode()
    found = as_parquet(tmp_path, **columns, unsigned=pa.array([2**64 - 1, 1], pa.uint64()))
    assert list(found.dtypes.astype(str)) == ["float64", "float64", "str", "str", "uint64"]
    assert found["decimal"][0] == 1.5
    assert found["unsigned"][0] == 2**64 - 1
    assert found["lists"][1].startswith("list<")


def test_a_long_text_that_a_parquet_file_has_once_counts_for_each_row(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 2**20)
    parquet.write_table(pa.table({"a": ["x" * 2**12] * 2**10}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 2**15
    refused("has 4,194,304 bytes; at most 1,048,576", tables.read_table, tmp_path / "a.parquet")


@pytest.mark.parametrize("true", ["True", "yes", "1", " true "])
def test_diverged_is_true_or_false_in_many_spellings(tmp_path, true):
    false = {"t": "f", "yes": "no", "Y": "N", "1": "0", "1.0": "0.0"}.get(true, "False")
    found = as_csv(tmp_path, f"seed,diverged\n0,{true}\n1,{false}\n")["diverged"]
    assert (found.dtype, list(found)) == (bool, [True, False])


@pytest.mark.parametrize(("value", "said"), [("", "an empty field"), ("2", "'2'")])
def test_diverged_that_is_neither_is_named_with_its_row(tmp_path, value, said):
    line = f"^a.csv: diverged: {said} in row 2 is not true or false.$"
    refused(line, as_csv, tmp_path, f"seed,diverged\n0,False\n1,{value}\n")
    with pytest.raises(verdicts.UserError, match="diverged: an empty field in row 2"):
        as_parquet(tmp_path, diverged=pa.array([True, None]))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_is_a_regular_file_in_its_folder(tmp_path, kind):
    (tmp_path / "r").mkdir()
    path = tmp_path / f"r/a.{kind}"
    (tmp_path / f"b.{kind}").write_text(CSV)
    makers = (
        (path.mkdir, "it is not a regular file"),
        (lambda: os.mkfifo(path), "it is not a regular file"),
        (lambda: os.symlink("/dev/zero", path), "it is not a regular file"),
        (lambda: os.symlink(path, path), "symbolic links"),
        (lambda: os.symlink("absent", path), "does not exist"),
        (lambda: os.symlink(tmp_path / f"b.{kind}", path), "is a link to a file elsewhere; copy"),
    )
    for make, said in makers:
        make()
        refused(said, tables.read_tables, tmp_path / "r", ["a"])
        path.rmdir() if path.is_dir() else path.unlink()
