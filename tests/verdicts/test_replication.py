"""Is a replication consistent with the original?"""

import csv
from pathlib import Path

import pytest

from verdicts import replication

#: 30 studies of four replication projects, with the answers of ReplicationSuccess 1.3.3 (R).
STUDIES = list(csv.DictReader(Path(__file__).with_name("replication_studies.csv").open()))
BOTH = ("original", "original_se", "replication", "replication_se")


@pytest.mark.parametrize("row", STUDIES)
def test_the_definitions_are_those_of_the_r_package(row):
    study = [float(row[name]) for name in BOTH]
    found = {
        "sceptical_p_two_sided": replication.sceptical_p(*study),
        "sceptical_p_golden_one_sided": replication.sceptical_p(*study, type="golden"),
        "q_test_p": replication.q_test(*study),
    }
    ends = replication.prediction_interval(study[0], study[1], study[3])
    found |= dict(zip(("prediction_low", "prediction_high"), ends, strict=True))
    assert found == pytest.approx({name: float(row[name]) for name in found}, abs=1e-6)


def test_small_effects_equivalence_and_the_vote_count():
    """At that effect, p is 1/2."""
    small = 1.959964 - 0.4307273
    assert replication.special.ndtr(small - 1.959964) == pytest.approx(1 / 3, abs=1e-6)
    assert replication.small_telescopes(5, 1, small, 0.2) == pytest.approx(0.5, abs=1e-6)
    assert replication.small_telescopes(5, 1, 0, 0.2) < 0.001
    assert replication.small_telescopes(-5, 1, -3, 0.2) > 0.999  # on the side of the original
    assert replication.equivalence(1, 0.3, 1.5, 0.4, margin=0.5) == pytest.approx(0.5)
    assert replication.equivalence(1, 0.01, 1, 0.01, margin=0.5) < 1e-9
    assert replication.same_sign_and_significant(1, 2, 1)
    assert not replication.same_sign_and_significant(-1, 2, 1)
    assert not replication.same_sign_and_significant(1, 1.9, 1)


@pytest.mark.parametrize(("error", "level"), [(0.0, 0.95), (-1.0, 0.95), (1.0, 1.0), (1.0, 0.0)])
def test_what_is_no_error_or_level_is_refused(error, level):
    with pytest.raises(ValueError, match="must be"):
        replication.prediction_interval(0.3, error, 1.0, level)
    with pytest.raises(ValueError, match="must be"):
        replication.sceptical_p(0.3, error, 1.0, 1.0, type="nominal" if error <= 0 else "silver")
