"""Tidy tables of the metrics of runs."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngo.common.parquet_columns import write_columns
from ngo.training.tidy import aggregate, read_tidy, write_tidy
from verdicts.registry import UserError


def test_a_table_that_is_absent_or_damaged_is_a_line(tmp_path):
    with pytest.raises(UserError, match="table: '.*none' does not exist"):
        read_tidy(tmp_path / "none")
    (tmp_path / "half").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="table: '.*half' is damaged: "):
        read_tidy(tmp_path / "half")


def test_aggregate_joins_runs_and_their_facts(tmp_path):
    for run, seed in (("b", 1), ("a", 0)):
        facts = {"run": run, "seed": seed, "topology": "ring", "u": None}
        write_columns(
            tmp_path / run,
            {
                "step": [0, 5],
                "V": [0.0, 1.5],
                "diverged": [False, run == "b"],
                "seconds": [0.1, 0.2],  # as older versions had them
            },
            facts,
        )
    table = aggregate([tmp_path / "b", tmp_path / "a"]).to_pandas()
    assert table["run"].tolist() == ["a", "a", "b", "b"]
    assert table["step"].tolist() == [0, 5, 0, 5]
    assert table["diverged"].tolist() == [False, False, False, True]
    assert table["u"].isna().all()
    assert "seconds" not in table
    (tmp_path / "again").write_bytes((tmp_path / "a").read_bytes())
    for second in ("a", "again"):
        files = [tmp_path / "a", tmp_path / "b", tmp_path / second]
        with pytest.raises(UserError, match=rf"the run a is in '.*/a' and in '.*/{second}'; name"):
            aggregate(files)


COLUMNS = {
    "loss": [0.5, np.nan], "empty": [np.nan, np.nan], "count": [1, 2], "met": [True, False],
    "V": [0.0, -0.0],
}  # fmt: skip
FACTS = {
    "p": [1, 0.75, None], "u": [None], "workers": [4, 16], "graph": ["ring", "é", None],
    "exact": [True, None], "delay": [None, 3],
}  # fmt: skip
RUNS = st.tuples(
    st.sets(st.sampled_from(sorted(COLUMNS))),
    st.fixed_dictionaries({}, optional={k: st.sampled_from(each) for k, each in FACTS.items()}),
    st.sampled_from("abc"),
)


@settings(max_examples=12)
@given(st.lists(RUNS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_a_table_has_the_same_bytes_however_its_runs_are_divided(runs, draws):
    with tempfile.TemporaryDirectory() as name:
        folder, parts = Path(name), {}
        for k, (columns, facts, part) in enumerate(runs):
            known = {"step": [0, 5], "diverged": [False, True]}
            path = folder / f"run{k}"
            write_columns(path, {**known, **{c: COLUMNS[c] for c in columns}}, {"run": k, **facts})
            parts.setdefault(part, []).append(path)
        write_tidy(aggregate([each for part in parts.values() for each in part]), folder / "whole")
        for part, files in parts.items():
            write_tidy(aggregate(files), folder / part)
        some = [folder / part for part in parts]  # c's runs stay as they are
        if "c" in parts:
            some = [*(each for each in some if each.name != "c"), *parts["c"]]
        draws.shuffle(some)
        more = [*some, *(each for each in some if each.name in ("a", "b"))]  # a table comes twice
        for files in (some, more):
            write_tidy(aggregate(files), folder / "again")
            assert (folder / "again").read_bytes() == (folder / "whole").read_bytes()
