"""Seeds that a comparison leaves out: a value or a run is missing."""

import math

import pandas as pd
import pytest
from quantities_for_tests import quantities, write  # noqa: F401

from verdicts.claims.claims_file import read_claims
from verdicts.ledger import judged
from verdicts.row import as_table

pytestmark = pytest.mark.usefixtures("quantities")

SIDES = {"of": {"method": "b"}, "minus": {"method": "a"}, "value": "score"}


def compared(path, rows):
    """The verdict on a difference of two methods."""
    claims = {"x": {"quantity": "difference", "with": SIDES, "unit": "points"}}
    found = judged(read_claims(write(path / "c.yaml", claims)), {"t": rows})
    return as_table(found).iloc[0]


def two_methods():
    rows = pd.DataFrame(
        {"method": method, "seed": seed, "score": mean + each}
        for method, mean in (("a", 1), ("b", 4))
        for seed, each in enumerate([-1.2, -0.5, 0.1, 0.4, 1.2])
    )
    rows["score"] += rows.index**2 / 100
    return rows


def test_a_seed_without_a_value_is_named(tmp_path):
    rows = two_methods()
    assert compared(tmp_path, rows)["reason"] == ""
    rows.loc[1, "score"] = math.nan
    row = compared(tmp_path, rows)
    assert (row["pairs"], row["reason"]) == (4, "seed 1 is left out: no score in 1 row")
    rows.loc[[1, 2, 7], "score"] = math.nan
    reason = compared(tmp_path, rows)["reason"]
    assert reason.endswith("seeds 1, 2 are left out: no score in 3 rows")


def test_a_seed_without_a_run_to_compare_with_is_named(tmp_path):
    rows = two_methods().drop([1, 8])
    row = compared(tmp_path, rows)
    reason = "seeds 1, 3 are left out: a run to compare with is missing"
    assert (row["pairs"], row["reason"]) == (3, reason)
    rows.loc[0, "score"] = math.nan
    reason = compared(tmp_path, rows.drop(4))["reason"]
    assert "seed 0 is left out: no score in 1 row; seeds 1, 3, 4 are left out: a run" in reason
