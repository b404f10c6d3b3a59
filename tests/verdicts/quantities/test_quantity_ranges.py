import math

import pytest
from measured_runs import ended, table

from verdicts.quantities.trends import log_spread_ratio, spread

NGO, GOSSIP = {"method": "ngo"}, {"method": "gossip"}


def rates(accuracies, method="ngo", lost=()):
    return [
        ended(method=method, gamma=g, accuracy=a, diverged=g in lost) for g, a in accuracies.items()
    ]


def test_the_spread_over_a_field():
    rows = table(*rates({0.1: 0.5, 0.3: 0.7, 1.0: 0.6}))
    assert spread(rows, "gamma")[0] == pytest.approx(20)
    assert spread(rows, "gamma", where=NGO)[0] == pytest.approx(20)


def test_a_diverged_run_makes_the_spread_infinite():
    assert spread(table(*rates({0.1: 0.5, 1.0: 0.6}, lost=(1.0,))), "gamma")[0] == math.inf
    both = table(*rates({0.1: 0.5, 1.0: 0.6}, lost=(0.1, 1.0)))
    assert spread(both, "gamma")[0] == math.inf


def test_a_missing_run_leaves_no_spread():
    rows = table(*rates({0.1: 0.5, 1.0: 0.6}), ended(seed=1, method="ngo", gamma=0.1))
    assert math.isnan(spread(rows, "gamma")[1])


def test_the_ratio_of_spreads():
    rows = table(*rates({0.1: 0.5, 1.0: 0.9}), *rates({0.1: 0.5, 1.0: 0.6}, method="gossip"))
    assert log_spread_ratio(rows, NGO, GOSSIP, "gamma")[0] == pytest.approx(math.log(4))


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"), [((1.0,), (), math.inf), ((), (1.0,), -math.inf),
                                     ((1.0,), (1.0,), math.nan)]
)  # fmt: skip
def test_the_ratio_of_spreads_of_diverged_runs(ours, theirs, expected):
    rows = table(
        *rates({0.1: 0.5, 1.0: 0.9}, lost=ours),
        *rates({0.1: 0.5, 1.0: 0.6}, method="gossip", lost=theirs),
    )
    assert log_spread_ratio(rows, NGO, GOSSIP, "gamma")[0] == pytest.approx(expected, nan_ok=True)
