import math

import numpy as np
import pytest
from measured_runs import ended, table

from verdicts.quantities.correlations import fisher_z


def runs(values, **more):
    return [ended(method=str(k), V=V, loss=x, **more) for k, (V, x) in enumerate(values)]


def test_the_correlation_of_log_V_with_a_loss():
    # log V is 0, 1, 2, 3; the losses 1, 3, 2, 4: r = 4/5.
    rows = table(*runs(zip(np.exp([0, 1, 2, 3]), (1.0, 3.0, 2.0, 4.0), strict=True)))
    assert fisher_z(rows, "loss")[0] == pytest.approx(np.arctanh(0.8))
    assert fisher_z(rows, "loss", minus=0.5)[0] == pytest.approx(np.arctanh(0.8) - 0.5)


def test_logs_of_losses():
    exact = zip(np.exp([0, 1, 2, 3]), np.exp([1, 3, 2, 4]), strict=True)
    assert fisher_z(table(*runs(exact)), "loss", log=True)[0] == pytest.approx(np.arctanh(0.8))


def test_a_perfect_correlation_has_a_finite_z():
    rows = table(*runs(zip(np.exp([0, 1, 2, 3]), (1.0, 2.0, 3.0, 4.0), strict=True)))
    assert 9 < fisher_z(rows, "loss")[0] < 15


def test_too_few_runs_and_equal_values_have_none():
    few = table(*runs([(1.0, 1.0), (2.0, 2.0), (3.0, 1.0)]), ended(method="x", diverged=True))
    assert math.isnan(fisher_z(few, "loss")[0])
    assert math.isnan(fisher_z(table(*runs([(float(k), 1.0) for k in range(1, 6)])), "loss")[0])
