import math

import pandas as pd
import pytest
from measured_runs import ended, pairs, table

from ngo.common.registry import UserError
from verdicts.quantities.differences import contrast, difference, level, log_ratio, remaining_gap

NGO, GOSSIP, CENTRALIZED = ({"method": name} for name in ("ngo", "gossip", "centralized"))
INF = math.inf


def joined(*tables):
    return pd.concat(tables, ignore_index=True)


def test_differences_are_paired_by_seed():
    found = difference(pairs([0.5, 0.7, 0.9], [0.4, 0.8, 0.9]), NGO, GOSSIP)
    assert found.to_dict() == pytest.approx({0: 10, 1: -10, 2: 0})


def test_topologies_are_averaged_within_a_seed():
    rows = joined(
        pairs([0.5, 0.7], [0.4, 0.4], topology="ring"),
        pairs([0.6, 0.7], [0.3, 0.6], topology="complete"),
    )
    found = difference(rows, NGO, GOSSIP, over=["topology"])
    assert found.to_dict() == pytest.approx({0: 20, 1: 20})


def test_a_seed_without_one_of_the_runs_has_no_difference():
    rows = joined(pairs([0.5, 0.7], [0.4], topology="ring"), pairs([0.5, 0.6], [0.3, 0.4],
                  topology="complete"))  # fmt: skip
    found = difference(rows, NGO, GOSSIP, over=["topology"])
    assert found[0] == pytest.approx(15)
    assert math.isnan(found[1])


@pytest.mark.parametrize(
    ("value", "of_ngo", "of_gossip"), [("accuracy", -INF, INF), ("V", INF, -INF)]
)
def test_divergence_counts_against_its_method(value, of_ngo, of_gossip):
    rows = pairs([0.5] * 4, [0.4] * 4, lost_ours=(1, 3), lost_theirs=(2, 3))
    found = difference(rows, NGO, GOSSIP, value)
    assert found[1] == of_ngo
    assert found[2] == of_gossip
    assert math.isnan(found[3])  # both: no comparison


def test_a_graph_on_which_both_diverged_leaves_its_seed_no_comparison():
    rows = joined(
        pairs([0.5, 0.5], [0.4, 0.4], topology="ring", lost_ours=(0,), lost_theirs=(0,)),
        pairs([0.5, 0.5], [0.4, 0.4], topology="complete", lost_theirs=(0, 1)),
    )
    found = difference(rows, NGO, GOSSIP, over=["topology"])
    assert math.isnan(found[0])
    assert found[1] == INF


def test_log_ratios():
    rows = pairs([1.0, 8.0], [2.0, 2.0], value="V")
    found = log_ratio(rows, NGO, GOSSIP)
    assert found.to_dict() == pytest.approx({0: -math.log(2), 1: math.log(4)})


def test_centralized_minus_both_topologies():
    rows = joined(
        pairs([0.5], [0.4], topology="ring"),
        pairs([0.7], [0.6], topology="complete"),
        table(ended(method="centralized", accuracy=0.9)),
    )
    assert difference(rows, CENTRALIZED, NGO, over=["topology"])[0] == pytest.approx(30)


def test_levels():
    rows = pairs([0.5, 0.7], [0.3, 0.4])
    ngo = rows[rows["method"] == "ngo"]
    assert level(ngo).to_dict() == pytest.approx({0: 50, 1: 70})
    assert level(rows, over=["method"]).to_dict() == pytest.approx({0: 40, 1: 55})
    assert level(rows, "V", ["method"], log=True).to_dict() == {0: 0, 1: 0}


def test_an_interaction_is_a_contrast_of_four_runs():
    rows = table(
        *(
            ended(seed=s, partition=part, local_steps=h, accuracy=a)
            for s in (0, 1)
            for part, h, a in (
                ("iid", 1, 0.95), ("iid", 5, 0.94), ("shards", 1, 0.7), ("shards", 5, 0.5 + s / 10)
            )
        )
    )  # fmt: skip
    terms = [
        {"weight": 1, "partition": "iid", "local_steps": 1},
        {"weight": -1, "partition": "iid", "local_steps": 5},
        {"weight": -1, "partition": "shards", "local_steps": 1},
        {"weight": 1, "partition": "shards", "local_steps": 5},
    ]
    # iid loses 1 point, non-iid 20 and 10.
    assert contrast(rows, terms).to_dict() == pytest.approx({0: -19, 1: -9})


def gap(ngo, gossip, centralized, **lost):
    rows = joined(
        pairs([ngo], [gossip], topology="ring", **lost),
        table(ended(method="centralized", accuracy=centralized)),
    )
    return remaining_gap(rows, NGO, GOSSIP, CENTRALIZED, over=["topology"]).loc[0].tolist()


def test_the_two_parts_of_a_gap_that_remains():
    assert gap(0.7, 0.6, 0.8) == pytest.approx([10, 20])
    assert gap(0.9, 0.6, 0.8) == pytest.approx([-10, 20])


def test_without_a_gap_there_is_nothing_to_close():
    for gossip in (0.8, 0.85):
        with pytest.raises(UserError, match="^remaining_gap: there is none to close; [^\n]*$"):
            gap(0.9, gossip, 0.8)


def test_the_gap_of_a_diverged_run_counts_against_it():
    assert gap(0.7, 0.6, 0.8, lost_ours=(0,)) == pytest.approx([INF, 20])
    assert gap(0.7, 0.6, 0.8, lost_theirs=(0,)) == pytest.approx([10, INF])
    both = gap(0.7, 0.6, 0.8, lost_ours=(0,), lost_theirs=(0,))
    assert both == pytest.approx([math.nan] * 2, nan_ok=True)
