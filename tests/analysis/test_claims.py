"""The paper's claims and their verdicts."""

import pandas as pd
import pytest
from made_up import TABLE1, TABLE_A1, TABLE_S2, cell

from ngo.analysis.claims import claims_table
from ngo.analysis.criteria import ACCURACY, NEGATIVE_ELBO, TEST_LOSS, TRAIN_LOSS
from ngo.common.registry import UserError


def claims(rows, reference, measure):
    return claims_table(pd.DataFrame(rows), reference, [measure])


def test_claims_follow_the_papers_numbers_and_the_measured_intervals():
    rows = (
        cell("ring", "gossip", [0.62, 0.61, 0.63], partition="shards")
        + cell("ring", "ngo", [0.65, 0.64, 0.661], partition="shards")
        + cell("random", "gossip", [0.60, 0.70, 0.62], partition="shards")
        + cell("random", "ngo", [0.55, 0.54, 0.56], partition="shards")
    )
    found = claims(rows, TABLE1, ACCURACY).set_index("claim")
    assert found.loc["ring ngo > ring gossip", "verdict"] == "holds"
    assert found.loc["ring ngo > ring gossip", "paper"] == pytest.approx(64.84 - 62.30)
    assert found.loc["ring ngo > ring gossip", "measured"] == pytest.approx(3.1 / 3 + 2)
    assert found.loc["random ngo > ring ngo", "verdict"] == "fails"
    assert found.loc["random gossip > ring gossip", "verdict"] == "undecided"


def test_a_claim_goes_the_way_of_the_papers_numbers():
    """iid: the paper's complete gossip (96.35) is below its random gossip (96.48)."""
    rows = cell("random", "gossip", [0.96, 0.95, 0.97])
    rows += cell("complete", "gossip", [0.95, 0.94, 0.961])
    found = claims(rows, TABLE1, ACCURACY)
    assert found["claim"].tolist() == ["random gossip > complete gossip"]
    assert found["paper"].tolist() == pytest.approx([0.13])
    assert found["verdict"].tolist() == ["holds"]


def test_a_lower_elbo_is_better():
    """On iid data and a ring the paper has NGO 113.27, gossip 124.35, centralized 113.73."""
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.49, 0.6, 0.71])
    found = claims(rows, TABLE_S2, NEGATIVE_ELBO)
    assert found["claim"].tolist() == ["ring ngo < ring gossip"]
    assert found["paper"].tolist() == pytest.approx([113.27 - 124.35])
    assert found["measured"].tolist() == pytest.approx([-0.2])
    assert found["verdict"].tolist() == ["holds"]
    worse = cell("ring", "gossip", [0.49, 0.6, 0.71]) + cell("ring", "ngo", [0.3, 0.4, 0.5])
    assert claims(worse, TABLE_S2, NEGATIVE_ELBO)["verdict"].tolist() == ["fails"]


def test_equal_numbers_claim_nothing():
    """On iid data and a ring the paper prints a loss of 0.25 for both."""
    rows = cell("ring", "gossip", [0.5, 0.5, 0.5]) + cell("ring", "ngo", [0.6, 0.6, 0.6])
    found = claims(rows, TABLE_A1, TEST_LOSS)
    assert found["claim"].tolist() == ["ring ngo = ring gossip"]
    assert found["paper"].tolist() == [0]
    assert found["measured"].tolist() == pytest.approx([-0.1])
    assert found["verdict"].tolist() == ["no difference printed"]


@pytest.mark.parametrize(("seeds", "verdict"), [(2, "too few seeds"), (3, "holds")])
def test_a_verdict_needs_three_seeds(seeds, verdict):
    scores = [0.6, 0.61, 0.62][:seeds]
    rows = cell("ring", "gossip", [0.5] * seeds) + cell("ring", "ngo", scores)
    assert claims(rows, TABLE1, ACCURACY)["verdict"].tolist() == [verdict]


def test_equal_differences_give_no_verdict():
    rows = cell("ring", "gossip", [0.5, 0.7, 0.9]) + cell("ring", "ngo", [0.51, 0.71, 0.91])
    assert claims(rows, TABLE1, ACCURACY)["verdict"].tolist() == ["undecided"]


def test_a_diverged_run_leaves_its_claims_undecided():
    rows = cell("ring", "gossip", [0.9] * 3) + cell("ring", "ngo", [0.9, 0.1, 0.9], diverged=[1])
    assert claims(rows, TABLE1, ACCURACY)["verdict"].tolist() == ["undecided"]


def test_runs_of_one_seed_in_the_same_cell_are_refused():
    rows = cell("ring", "ngo", [0.9], gamma=0.1) + cell("ring", "ngo", [0.8], gamma=1)
    with pytest.raises(UserError, match="told apart"):
        claims(rows, TABLE1, ACCURACY)


def test_only_criteria_that_the_paper_reports_have_claims():
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.5, 0.6, 0.7])
    found = claims_table(pd.DataFrame(rows), TABLE_A1, [TEST_LOSS, TRAIN_LOSS])
    assert set(found["measure"]) == {"test loss"}


def test_topologies_are_compared_unless_left_out():
    rows = cell("ring", "gossip", [0.9] * 3) + cell("complete", "gossip", [0.9] * 3)
    rows += cell("random", "gossip", [0.9] * 3)
    assert len(claims(rows, TABLE1, ACCURACY)) == 2
    assert claims_table(pd.DataFrame(rows), TABLE1, [ACCURACY], topologies=False).empty
