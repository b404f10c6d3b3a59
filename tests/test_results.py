import math

import numpy as np
import pandas as pd
import pytest

from ngo import columns, results
from ngo.registry import UserError
from ngo.statistics import estimate


def test_estimate_against_a_t_table():
    found = estimate(np.array([1.0, 2.0, 3.0]))
    assert (found.mean, found.std, found.count) == (2, 1, 3)
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)  # t(0.975, 2)
    assert not found.excludes_zero
    assert estimate(np.array([10.0, 11.0, 12.0])).excludes_zero


def test_estimate_of_one_seed_has_no_interval():
    found = estimate(np.array([4.0]))
    assert found.mean == 4
    assert math.isnan(found.half_width)
    assert not found.excludes_zero


@pytest.mark.parametrize("values", [[1.0] * 3, [0.51 - 0.5, 0.71 - 0.7, 0.91 - 0.9]])
def test_an_interval_of_no_width_excludes_nothing(values):
    """Equal values, also where they are so up to rounding."""
    assert not estimate(np.array(values)).excludes_zero


def test_a_diverged_seed_is_not_left_out_of_the_mean():
    assert math.isnan(estimate(np.array([1.0, math.nan, 3.0])).mean)


def test_aggregate_joins_runs_and_their_facts(tmp_path):
    for run, seed in (("b", 1), ("a", 0)):
        facts = {"run": run, "seed": seed, "topology": "ring", "u": None}
        columns.write(
            tmp_path / run,
            {
                "step": [0, 5],
                "V": [0.0, 1.5],
                "diverged": [False, run == "b"],
                "seconds": [0.1, 0.2],  # as older versions had them
            },
            facts,
        )
    table = results.aggregate([tmp_path / "b", tmp_path / "a"])
    assert table["run"].tolist() == ["a", "a", "b", "b"]
    assert table["step"].tolist() == [0, 5, 0, 5]
    assert table["diverged"].tolist() == [False, False, False, True]
    assert table["u"].isna().all()
    assert "seconds" not in table
    (tmp_path / "again").write_bytes((tmp_path / "a").read_bytes())
    for second in ("a", "again"):
        files = [tmp_path / "a", tmp_path / "b", tmp_path / second]
        with pytest.raises(UserError, match=rf"the run a is in '.*/a' and in '.*/{second}'; name"):
            results.aggregate(files)


def test_files_of_others_are_refused(tmp_path):
    def refused(name, reason):
        for read, key in ((results.aggregate, "metrics"), (results.class_counts, "partitions")):
            with pytest.raises(UserError, match=f"{key}: .*{name}' is not such a file.*{reason}"):
                read([tmp_path / name])

    (tmp_path / "text").write_text("no parquet")
    refused("text", "Parquet magic bytes")
    pd.DataFrame({"step": [0]}).to_parquet(tmp_path / "foreign")
    refused("foreign", "ngo did not write it")
    columns.write(tmp_path / "ours", {"x": [0]}, {"x": 1})
    refused("ours", "it does not say of which (run|dataset) it is")
    columns.write(tmp_path / "half", {"x": [0]}, {"run": "a", "dataset": "digits", "workers": 2})
    refused("half", "it has no column '(step|worker)'")
    facts, table = {"dataset": "sine", "workers": 1}, {"worker": [0], "sample": [0], "label": [0]}
    columns.write(tmp_path / "sine", table, facts)
    with pytest.raises(UserError, match="partitions: .*sine' is of data without classes"):
        results.class_counts([tmp_path / "sine"])


def test_columns_survive_as_they_are(tmp_path):
    table = {
        "i": np.arange(-5, 5),
        "f": np.array([0.1, np.nan, np.inf]),
        "b": np.array([True] * 3 + [False] * 8),
        "none": np.array([], dtype=float),
    }
    for name, values in table.items():
        columns.write(tmp_path / name, {name: values}, {"x": [1, "é"]})
        back, facts = columns.read(tmp_path / name, "test")
        assert facts == {"x": [1, "é"]}
        assert back[name].dtype.kind == values.dtype.kind
        np.testing.assert_array_equal(back[name], values)
        pd.testing.assert_frame_equal(
            pd.read_parquet(tmp_path / name), pd.DataFrame({name: values})
        )
