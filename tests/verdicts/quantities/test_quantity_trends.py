import math

import numpy as np
import pytest
from measured_runs import ended, table

from verdicts.quantities.trends import rank_trend, slope, slope_of, slope_on_V

INF = math.inf


def along_p(accuracies, *, lost=(), seed=0, **fields):
    return [
        ended(seed=seed, p=p, accuracy=a, V=1 / a, diverged=p in lost, **fields)
        for p, a in accuracies.items()
    ]


def test_the_slope_of_a_line():
    rows = table(*along_p({0.6: 0.5, 0.8: 0.6, 1.0: 0.7}))
    assert slope(rows, "p")[0] == pytest.approx(50)


def test_the_slope_of_logs_on_logs():
    rows = table(*(ended(workers=n, loss=8 / n) for n in (2, 4, 8)))
    found = slope(rows, "workers", "loss", log_along=True, log=True)
    assert found[0] == pytest.approx(-1)


def test_the_slope_of_a_difference():
    rows = table(
        *(
            ended(seed=s, method=q, workers=n, accuracy=0.5 + (q == "ngo") * np.log(n) / 100 * s)
            for s in (0, 1, 2) for q in ("ngo", "gossip") for n in (4, 16, 64)
        )
    )  # fmt: skip
    found = slope(rows, "workers", log_along=True, of={"method": "ngo"}, minus={"method": "gossip"})
    assert found.to_dict() == pytest.approx({0: 0, 1: 1, 2: 2})


@pytest.mark.parametrize(
    ("lost", "expected"), [((0.6,), INF), ((1.0,), -INF), ((0.6, 1.0), math.nan), ((0.8,), 25)]
)
def test_a_diverged_run_pulls_the_slope_to_its_side(lost, expected):
    rows = table(*along_p({0.6: 0.5, 0.8: 0.9, 1.0: 0.6}, lost=lost))
    assert slope(rows, "p")[0] == pytest.approx(expected, nan_ok=True)


def test_a_seed_with_a_missing_run_has_no_slope():
    rows = table(*along_p({0.6: 0.5, 1.0: 0.7}), *along_p({0.6: 0.5}, seed=1))
    assert math.isnan(slope(rows, "p")[1])
    assert math.isnan(slope_of(np.array([1.0, 1.0]), np.array([1.0, 2.0])))


def test_each_p_at_its_own_best_gamma():
    rows = table(
        *(
            ended(p=p, gamma=g, V=V)
            for p, g, V in ((0.6, 0.1, 9.0), (0.6, 0.01, 1.0), (1.0, 0.1, 4.0), (1.0, 0.01, 9.0))
        )
    )
    found = slope(rows, "p", "V", log=True, best="gamma")
    assert found[0] == pytest.approx(np.log(4) / 0.4)


def test_the_trend_of_ranks():
    rows = table(
        *along_p({0.6: 0.5, 0.8: 0.51, 1.0: 0.9}),
        *along_p({0.6: 0.9, 0.8: 0.51, 1.0: 0.1}, seed=1),
        # Ranks 1, 3, 2 against 1, 2, 3: ρ = 1/2.
        *along_p({0.6: 0.1, 0.8: 0.9, 1.0: 0.5}, seed=2),
        # The diverged run has the lowest rank: 1, 2, 3.
        *along_p({0.6: 0.9, 0.8: 0.4, 1.0: 0.5}, lost=(0.6,), seed=3),
    )
    assert rank_trend(rows, "p").to_dict() == pytest.approx({0: 1, 1: -1, 2: 0.5, 3: 1})


def test_the_slope_on_log_V_leaves_out_runs_without_one():
    rows = table(
        *(
            ended(method=str(k), V=V, accuracy=0.5 - 0.02 * np.log(V) if V else 0.9)
            for k, V in enumerate((1.0, 10.0, 100.0, 0.0))
        ),
        ended(method="lost", V=5.0, diverged=True),
        *(ended(seed=1, method=str(k), V=V) for k, V in enumerate((1.0, 10.0))),
    )
    found = slope_on_V(rows)
    assert found[0] == pytest.approx(-2)
    assert math.isnan(found[1])
