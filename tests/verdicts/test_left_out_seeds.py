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


def compared(path, rows, **changes):
    """The verdict on a difference of two methods."""
    claims = {"x": {"quantity": "difference", "with": SIDES, "unit": "points", **changes}}
    found = judged(read_claims(write(path / "c.yaml", claims)), {"t": rows})
    return as_table(found).iloc[0]


@pytest.mark.parametrize("with_runs", [False, True])
def test_a_diverged_run_counts_against_its_side_with_and_without_the_column_run(
    tmp_path, with_runs
):
    rows = pd.concat([two_methods(), two_methods().assign(seed=lambda t: t["seed"] + 5)])
    rows = rows.reset_index(drop=True)
    if with_runs:
        rows = rows.assign(run=rows["method"] + rows["seed"].astype(str), step=1)
    assert compared(tmp_path, rows)["verdict"] == "holds"
    ours = rows["method"] == "b"
    row = compared(tmp_path, rows.assign(diverged=ours))
    assert (row["verdict"], row["infinite"], row["estimate"]) == ("fails", 10, -math.inf)
    assert row["reason"] == "in 10 of 10 seeds runs diverged, and count against their side"
    row = compared(tmp_path, rows.assign(diverged=~ours))
    assert (row["verdict"], row["estimate"]) == ("holds", math.inf)


def test_a_seed_in_which_both_sides_diverged_is_no_comparison(tmp_path):
    rows = pd.concat([two_methods(), two_methods().assign(seed=lambda t: t["seed"] + 5)])
    ours = rows["method"] == "b"
    lost = rows["seed"].isin([1, 6]) | (ours & (rows["seed"] == 2))
    row = compared(tmp_path, rows.assign(diverged=lost).reset_index(drop=True))
    assert (row["pairs"], row["infinite"]) == (8, 1)
    assert row["reason"].endswith(
        "in 1 of 8 seeds runs diverged, and count against their side; "
        "seeds 1, 6 are left out: both sides diverged"
    )


def ratio_of_V(path, ours, theirs, **changes):
    """The verdict on a log ratio of V, of one run a seed and method."""
    rows = pd.DataFrame(
        {"method": method, "seed": seed, "V": V}
        for method, values in (("b", ours), ("a", theirs))
        for seed, V in enumerate(values)
    )
    sides = {"of": {"method": "b"}, "to": {"method": "a"}, "value": "V"}
    claim = {"quantity": "log_ratio", "with": sides, **changes}
    claims = read_claims(write(path / "c.yaml", {"x": claim}))
    rows["diverged"] = rows["V"] == math.inf
    return as_table(judged(claims, {"t": rows})).iloc[0]


@pytest.mark.parametrize("looks", [None, [7]])
def test_a_value_of_0_has_not_diverged(tmp_path, looks):
    row = ratio_of_V(tmp_path, [0.1, 0.2, 0.1, 0.3, 0.1, 0.1, 0.4], [0.0] * 7, looks=looks)
    assert (row["verdict"], row["estimate"]) == ("holds", math.inf)
    assert row["reason"] == "in 7 of 7 seeds V is 0, and its logarithm (−∞) decides the seed"
    some = [math.inf, 0.2, 0.1, 0.3, 0.1, 0.1, 0.4, 0.0]
    row = ratio_of_V(tmp_path, some, [0.1, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0], looks=looks)
    assert (
        "in 1 of 7 seeds runs diverged, and count against their side; "
        "in 1 of 7 seeds V is 0, and its logarithm (−∞) decides the seed"
    ) in row["reason"]
    assert row["reason"].endswith("seed 7 is left out: V is 0 on both sides")


def test_an_exact_claim_names_the_seeds_that_it_leaves_out(tmp_path):
    rows = two_methods().assign(score=lambda t: t["method"].map({"a": 1.0, "b": 4.0})).drop([1])
    rows.loc[2, "score"] = math.nan
    row = compared(tmp_path, rows, exact=True)
    assert (row["verdict"], row["pairs"]) == ("holds", 3)
    assert row["reason"] == (
        "exact: its value decides; seed 2 is left out: no score in 1 row; "
        "seed 1 is left out: a run to compare with is missing"
    )
    assert compared(tmp_path, rows[rows["seed"] == 0], exact=True)["verdict"] == "holds"


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
