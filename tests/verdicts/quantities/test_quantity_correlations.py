import math

import numpy as np
import pytest
from measured_runs import ended, evaluations, table

from verdicts.quantities.trends import fisher_z, slope_on_V


def runs(values, **more):
    return [ended(method=str(k), V=V, loss=x, **more) for k, (V, x) in enumerate(values)]


def test_the_correlation_of_log_V_with_a_loss():
    # log V is 0, 1, 2, 3; the losses 1, 3, 2, 4: r = 4/5.
    rows = table(*runs(zip(np.exp([0, 1, 2, 3]), (1.0, 3.0, 2.0, 4.0), strict=True)))
    assert fisher_z(rows, "loss")[0] == pytest.approx(np.arctanh(0.8))
    assert fisher_z(rows, "loss", minus=0.5)[0] == pytest.approx(np.arctanh(0.8) - 0.5)


def test_V_may_be_its_mean_over_training():
    # V is the same at the end of all runs; the logs of the means are 0, 1, 2, 3.
    parts = [
        evaluations(
            [{"step": 50, "V": 2 * np.exp(k) - 0.5}, {"step": 100, "V": 0.5, "loss": loss}],
            method=str(k),
        )
        for k, loss in enumerate((1.0, 3.0, 2.0, 4.0))
    ]
    rows = table(*parts)
    assert math.isnan(fisher_z(rows, "loss")[0])
    assert fisher_z(rows, "loss", V={"mean": "V"})[0] == pytest.approx(np.arctanh(0.8))
    assert slope_on_V(rows, "loss", V={"mean": "V"})[0] == pytest.approx(0.8)


def test_a_perfect_correlation_has_a_finite_z():
    rows = table(*runs(zip(np.exp([0, 1, 2, 3]), (1.0, 2.0, 3.0, 4.0), strict=True)))
    assert 9 < fisher_z(rows, "loss")[0] < 15


def test_too_few_runs_and_equal_values_have_none():
    few = table(*runs([(1.0, 1.0), (2.0, 2.0), (3.0, 1.0)]), ended(method="x", diverged=True))
    assert math.isnan(fisher_z(few, "loss")[0])
    assert math.isnan(fisher_z(table(*runs([(float(k), 1.0) for k in range(1, 6)])), "loss")[0])
