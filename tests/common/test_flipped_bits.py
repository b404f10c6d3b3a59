"""A table with a wrong bit is refused, or read as it was: by each reader, of each kind of table."""

import os
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from ngo.analysis import results
from ngo.common.parquet_columns import read_columns, write_columns, write_groups
from ngo.training.tidy import Damaged, read_tidy, write_tidy
from verdicts.files import CHECKSUMS, TAG, opened
from verdicts.registry import UserError
from verdicts.table import read_table

COLUMNS = {"step": np.arange(40), "loss": np.linspace(2, 1, 40), "diverged": np.arange(40) > 9}
TIDY = pa.table({"run": ["a"] * 40, **COLUMNS})
KINDS = {
    "a run's": lambda path: write_columns(path, COLUMNS, {"run": "a", "p": 0.95}),
    "partitions": lambda path: write_groups(path, [COLUMNS, COLUMNS], {"partitions": [1, 2]}),
    "tidy": lambda path: write_tidy(TIDY, path),
    "measured": lambda path: results.write(TIDY.to_pandas(), path),
}


def read_by_all(path):
    """What each reader makes of a file; None where it refuses it."""
    return [
        result(lambda: read_tidy(path).to_pandas().to_csv()),
        result(lambda: read_table(path).to_csv()),
        result(lambda: [str(each) for each in read_columns(path, "k", COLUMNS)]),
        result(lambda: str(read_columns(path, "k", group=lambda facts: 0)[0])),
    ]


def result(read):
    try:
        return read()
    except UserError:
        return None


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_refused_or_changes_nothing(kind, tmp_path):
    path = tmp_path / "t.parquet"
    KINDS[kind](path)
    good, draws = path.read_bytes(), random.Random(kind)
    whole, tag = read_by_all(path), good.index(TAG)
    assert sum(each is not None for each in whole) >= 2
    footer = range(tag, len(good))
    places = [draws.randrange(len(good)) for _ in range(60)] + draws.sample(footer, 60)
    for place in [*places, 0, tag, tag + len(TAG), *range(len(good) - 8, len(good))]:
        bad = bytearray(good)
        bad[place] ^= 1 << draws.randrange(8)
        path.write_bytes(bad)
        found = read_by_all(path)
        in_tag = tag <= place < tag + len(TAG)
        assert found == (whole if in_tag else [None] * len(whole)), place


def test_other_programs_read_a_table_with_a_sum(tmp_path):
    write_tidy(TIDY, tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), TIDY.to_pandas())
    assert parquet.read_table(tmp_path / "t.parquet", columns=["loss"])["loss"][0].as_py() == 2


def test_a_table_of_another_program_is_read_by_its_pages_checksums(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame(COLUMNS).to_parquet(path, **CHECKSUMS, compression=None)
    good = path.read_bytes()
    assert opened(good).read().equals(parquet.read_table(path))
    at = good.index(np.float64(2).tobytes())
    path.write_bytes(good[:at] + b"\1" + good[at + 1 :])
    with pytest.raises(Damaged, match="table: '.*' is damaged: .*could not verify page integrity"):
        read_tidy(path)


def test_a_reader_removes_nothing_and_an_error_of_the_disk_is_no_damage(tmp_path, monkeypatch):
    write_tidy(TIDY, tmp_path / "good.parquet")
    content = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "mine.csv").write_text("run,step\na,1\n")
    (tmp_path / "cut.parquet").write_bytes(content[:-3])
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "none.parquet").mkdir()
    before = sorted(tmp_path.iterdir())
    for name, line in {
        "mine.csv": "is no Parquet file; plots.tidy takes the table that pandas.read_csv reads.",
        "empty.parquet": "is no Parquet file; plots.tidy takes the table that pandas",
        "cut.parquet": "is damaged: ",
        "none.parquet": "can't be read: it is not a regular file.",
        "other.parquet": "does not exist.",
    }.items():
        with pytest.raises(UserError, match=f"^table: '.*{name}' {line}"):
            read_tidy(tmp_path / name)
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda path: os.listdir(path / "file"))
    for read in (read_tidy, read_table, lambda path: read_columns(path, "k")):
        with pytest.raises(UserError, match="can't be read: Not a directory") as told:
            read(tmp_path / "good.parquet")
        assert not isinstance(told.value, Damaged)
    assert sorted(tmp_path.iterdir()) == before
