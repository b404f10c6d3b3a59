"""Error rates of claims whose sides are at values that the same seeds chose."""

import pytest

from verdicts.statistics.error_rates import tuned_rates


def test_the_side_with_more_values_wins_too_often():
    rates = tuned_rates(400, [(1, 1), (12, 1), (1, 12), (8, 8)], [1.0])
    rates = rates.set_index(["of", "minus"])
    assert rates.loc[(1, 1), "false_holds"] == pytest.approx(0.025, abs=0.02)
    assert 0.09 < rates.loc[(12, 1), "false_holds"] < 0.17
    assert rates.loc[(12, 1), "false_fails"] == pytest.approx(0, abs=0.01)
    assert 0.09 < rates.loc[(1, 12), "false_fails"] < 0.17
    assert (rates.loc[(8, 8), ["false_holds", "false_fails"]] < 0.03).all()
