"""Methods beside each other and beside the paper's numbers."""

import math

import pandas as pd
import pytest
from made_up import TABLE1, cell, sizes

from ngo.analysis import comparisons
from ngo.analysis.criteria import ACCURACY
from ngo.analysis.curves import scores
from ngo.common.registry import UserError
from verdicts.rows.evaluations import final

T_3 = 4.302653 / math.sqrt(3)  # half-width of three values with standard deviation 1


def test_table1_sets_ours_beside_the_papers():
    runs = pd.DataFrame(
        cell("ring", "ngo", [0.91, 0.94, 0.97])
        + cell("ring", "gossip", [0.90, 0.92, 0.94])
        + cell(None, "centralized", [0.97, 0.98, 0.99])
    )
    table = comparisons.comparison_table(runs, TABLE1, [ACCURACY])
    assert table["method"].tolist() == ["centralized", "gossip", "ngo"]
    assert table["paper"].tolist() == [97.47, 96.47, 96.52]
    assert table["consensus"].tolist() == pytest.approx([98, 92, 94])
    assert table["workers"].tolist() == pytest.approx([93, 87, 89])
    assert table["consensus_minus_paper"].tolist() == pytest.approx([0.53, -4.47, -2.52])
    assert table["seeds"].tolist() == [3, 3, 3]
    assert (table["classes_min"].iloc[0], table["classes_max"].iloc[0]) == (8, 10)
    # Differences 1, 2, 3: mean 2, standard deviation 1; only NGO's row has them.
    assert table["ngo_minus_gossip"].isna().tolist() == [True, True, False]
    assert table["ngo_minus_gossip"].iloc[2] == pytest.approx(2)
    assert table["ngo_minus_gossip_ci95"].iloc[2] == pytest.approx(T_3, rel=1e-6)


def test_pairing_is_by_seed():
    """The seeds differ by 20 points, the methods by exactly 1: the paired interval is empty."""
    runs = pd.DataFrame(
        cell("ring", "gossip", [0.5, 0.7, 0.9]) + cell("ring", "ngo", [0.51, 0.71, 0.91])
    )
    paired = comparisons.ngo_minus_gossip(final(runs), "consensus_accuracy")
    assert paired["ngo_minus_gossip"].tolist() == pytest.approx([0.01])
    assert paired["ngo_minus_gossip_ci95"].tolist() == pytest.approx([0], abs=1e-12)


def test_a_diverged_run_leaves_no_mean():
    rows = cell("ring", "gossip", [0.9] * 3) + cell("ring", "ngo", [0.9, 0.1, 0.9], diverged=[1])
    table = comparisons.comparison_table(pd.DataFrame(rows), TABLE1, [ACCURACY])
    assert table["diverged"].tolist() == [0, 1]
    assert math.isnan(table["consensus"].iloc[1])


def test_runs_that_differ_in_no_column_are_refused():
    runs = pd.DataFrame(cell("ring", "ngo", [0.9], gamma=0.1) + cell("ring", "ngo", [0.8], gamma=1))
    with pytest.raises(UserError, match="there are mnist-iid-ring-ngo-0-.*0.1.*, mnist-iid.* 1"):
        comparisons.comparison_table(runs, TABLE1, [ACCURACY])


def gain(runs):
    """``comparisons.gains`` of the accuracy at the end, by number of workers and seed."""
    found = comparisons.gains(final(scores(runs)), ["workers"], "accuracy")
    return found.set_index(["workers", "seed"])


def test_a_gain_is_paired_by_seed():
    found = gain(sizes())["difference"]
    assert found[4].tolist() == pytest.approx([4, 4, 4])
    assert found[16].tolist() == pytest.approx([16, 16, 16])


def test_a_diverged_run_has_no_gain():
    found = gain(sizes(lambda seed: seed == 1))
    assert found["diverged"].tolist() == [False, True, False] * 2
    assert found["difference"].isna().tolist() == [False, True, False] * 2
