"""Runs on random graphs by their edge probability."""

import pytest
from made_up import random_graphs

from ngo.analysis.edge_probabilities import edge_probabilities


def test_the_course_is_that_at_the_nearest_edge_probability():
    found = edge_probabilities(random_graphs(), 0.4)
    assert found.probabilities == [0.2, 0.5]
    assert found.shown == 0.5
    assert set(found.course["u"].dropna()) == {0.5}
    assert set(found.course["method"]) == {"centralized", "gossip", "ngo"}


def test_a_fixed_graph_has_its_share_of_all_edges():
    ends = edge_probabilities(random_graphs(), 0.4).ends
    shares = ends.drop_duplicates(["topology", "u"]).set_index("topology")["share"]
    assert shares["ring"] == pytest.approx(20 / 90)
    assert shares["random"].tolist() == [0.2, 0.5]
    edges = ends[(ends["value"] == "edges") & (ends["topology"] == "ring")]["mean"]
    assert edges.tolist() == pytest.approx([10, 10])


def test_the_budget_is_the_number_of_models_sent_in_a_step():
    found = edge_probabilities(random_graphs(), 0.4)
    assert found.budget.to_dict() == pytest.approx({0.2: 20, 0.5: 20})
