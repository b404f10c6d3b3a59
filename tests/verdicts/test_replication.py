"""Is a replication consistent with the original?"""

import pytest

from verdicts.replication import prediction_interval


def test_the_prediction_interval_is_that_of_the_r_package():
    """Three studies as ReplicationSuccess 1.3.3 has them; the effects are Fisher's z."""
    for original, se, replication_se, low, high in (
        (0.71070711, 0.21320072, 0.21320072, 0.11975572, 1.3016585),
        (0.45375371, 0.20851441, 0.18257419, -0.08944844, 0.99695586),
        (0.16236765, 0.10369517, 0.10482848, -0.12663034, 0.45136564),
    ):
        found = prediction_interval(original, se, replication_se)
        assert found == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(("error", "level"), [(0.0, 0.95), (-1.0, 0.95), (1.0, 1.0), (1.0, 0.0)])
def test_what_is_no_error_or_level_is_refused(error, level):
    with pytest.raises(ValueError, match="must be"):
        prediction_interval(0.3, error, 1.0, level)
