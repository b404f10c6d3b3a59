"""The criteria by which methods are compared."""

from ngo.analysis.criteria import ACCURACY, CRITERIA, TRAIN_LOSS


def test_the_consensus_model_is_compared_if_it_has_a_value():
    assert ACCURACY.compared == "consensus"
    assert TRAIN_LOSS.compared == "workers"


def test_criteria_are_found_by_the_name_in_tables():
    assert all(CRITERIA[criterion.name] is criterion for criterion in CRITERIA.values())
