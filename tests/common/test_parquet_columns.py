import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from ngo.common import memory
from ngo.common.parquet_columns import read_columns, write_columns, write_groups
from verdicts.registry import UserError


def test_columns_are_read_as_written(tmp_path):
    table = {
        "i": np.arange(-5, 5),
        "f": np.array([0.1, np.nan, np.inf]),
        "b": np.array([True] * 3 + [False] * 8),
        "none": np.array([], dtype=float),
    }
    for name, values in table.items():
        write_columns(tmp_path / name, {name: values}, {"x": [1, "é"]})
        back, facts = read_columns(tmp_path / name, "test")
        assert facts == {"x": [1, "é"]}
        assert back[name].dtype.kind == values.dtype.kind
        np.testing.assert_array_equal(back[name], values)
        pd.testing.assert_frame_equal(
            pd.read_parquet(tmp_path / name), pd.DataFrame({name: values})
        )


def test_a_group_of_rows_is_read_alone(tmp_path):
    groups = [{"i": [k] * (k + 1), "b": [k % 2 == 0] * (k + 1)} for k in range(12)]
    path = tmp_path / "groups"
    write_groups(path, iter(groups), {"names": list("abcdefghijkl")})
    for k, name in enumerate("abcdefghijkl"):
        found, facts = read_columns(
            path, "test", group=lambda facts, n=name: facts["names"].index(n)
        )
        assert {key: column.tolist() for key, column in found.items()} == groups[k]
        assert facts["names"][k] == name
    whole, _ = read_columns(path, "test")
    assert whole["i"].tolist() == [k for k in range(12) for _ in range(k + 1)]
    assert whole["b"].tolist() == [k % 2 == 0 for k in range(12) for _ in range(k + 1)]
    with pytest.raises(UserError, match="test: '.*groups' is the wrong file, or damaged: "):
        read_columns(path, "test", group=lambda facts: 12)


def refusal(path, names=(), about=()):
    with pytest.raises(UserError) as error:
        read_columns(path, "key", names, about)
    start = f"key: {str(path)!r} is the wrong file, or damaged: "
    assert str(error.value).startswith(start)
    return str(error.value)[len(start) :]


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("no parquet")
    assert "Parquet magic bytes" in refusal(tmp_path / "text")
    pd.DataFrame({"step": [0]}).to_parquet(tmp_path / "foreign")
    assert refusal(tmp_path / "foreign") == "ngo did not write it."
    write_columns(tmp_path / "ours", {"x": [0]}, {"run": 1})
    content = (tmp_path / "ours").read_bytes()
    (tmp_path / "half").write_bytes(content[: len(content) // 2])
    assert refusal(tmp_path / "half")
    assert refusal(tmp_path / "ours", about=["seed"]) == "its metadata has no 'seed'."
    assert refusal(tmp_path / "ours", names=["step"]) == "it has no column 'step'."
    read_columns(tmp_path / "ours", "key", ["x"], ["run"])


@pytest.mark.timeout(60)
def test_what_a_stranger_may_send_is_refused_before_it_takes_memory(tmp_path, monkeypatch):
    write_columns(tmp_path / "zeros", {"x": np.zeros(10**5)}, {})
    assert (tmp_path / "zeros").stat().st_size < 10**4
    monkeypatch.setattr(memory, "ALWAYS", 10**5)
    monkeypatch.setattr(memory, "RATIO", 10)
    with pytest.raises(UserError, match="key: '.*zeros' has .* declares a content of 800000;"):
        read_columns(tmp_path / "zeros", "key")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="^key: '.*pipe' can't be read: it is not a regular file"):
        read_columns(tmp_path / "pipe", "key")


def test_odd_columns_and_facts_are_refused(tmp_path):
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    parquet.write_table(twice.replace_schema_metadata({"ngo": "{}"}), tmp_path / "twice")
    assert refusal(tmp_path / "twice", ["x"]) == "it has two columns of one name."
    deep = pa.table({"x": [1]}).replace_schema_metadata({"ngo": "[" * 100_000})
    parquet.write_table(deep, tmp_path / "deep")
    assert "recursion" in refusal(tmp_path / "deep")
