import math

import numpy as np
import pandas as pd
import pytest
from measured_runs import pairs

from verdicts.registry import UserError
from verdicts.rows.seed_values import (
    by_seed,
    logs,
    runs_by_seed,
    total,
    weighted_sum,
)

INF = math.inf


def frame(columns, seeds=(0, 1)):
    made = pd.DataFrame(dict(enumerate(columns.values())), index=pd.Index(seeds, name="seed"))
    made.columns = pd.Index(list(columns), tupleize_cols=False)
    return made.astype(float)


def test_seeds_by_keys():
    rows = pd.concat(
        [pairs([0.5, 0.6], [0.1, 0.2], topology="ring"), pairs([0.7], [0.3], topology="complete")],
        ignore_index=True,
    )
    found = by_seed(rows, {"method": "ngo"}, "accuracy", ["topology"])
    assert set(found.columns) == {("ring",), ("complete",)}
    assert found[[("ring",)]].iloc[:, 0].tolist() == pytest.approx([50, 60])
    assert found[[("complete",)]].iloc[:, 0].tolist() == pytest.approx([70, math.nan], nan_ok=True)


def test_two_runs_of_a_seed_are_refused():
    rows = pairs([0.5], [0.1])
    said = "^runs gossip-s0 and ngo-s0 have the same seed and differ in method; add it to"
    with pytest.raises(UserError, match=said):
        by_seed(pairs([0.5, 0.6], [0.1, 0.2]), {}, "accuracy")
    with pytest.raises(UserError, match="over: there is no column 'methd'. Did you mean"):
        runs_by_seed(rows, "accuracy", ["methd"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"dataset": "b"},
            "rows 2 and 4 have the same seed and differ in dataset; add it to 'over'",
        ),
        ({"score": 9.0}, "rows 2 and 4 have the same seed and differ in score alone; keep one"),
        ({}, "rows 2 and 4 are the same (seed 1); remove one."),
    ],
)
def test_two_rows_of_a_seed_are_told_apart(more, said):
    first = {"dataset": "b", "seed": 0, "score": 1.0}
    rows = [first, {"dataset": "a", "seed": 1, "score": 2.0}, {**first, "seed": 2, "dataset": "a"}]
    found = pd.DataFrame([*rows, {**rows[1], **more}])
    with pytest.raises(UserError) as caught:
        runs_by_seed(found, "score")
    assert str(caught.value).startswith(said)


def test_centralized_training_counts_for_every_topology():
    one = frame({("ring",): [5, 6], ("complete",): [8, 9]})
    shared = frame({(None,): [10, 20]})
    found = weighted_sum([(1, shared), (-1, one)])
    assert found[[("ring",)]].iloc[:, 0].tolist() == [5, 14]
    assert found[[("complete",)]].iloc[:, 0].tolist() == [2, 11]


def test_a_seed_that_one_side_lacks_is_missing():
    found = weighted_sum([(1, frame({(): [1, 2]})), (-1, frame({(): [1, 2]}, seeds=(1, 2)))])
    assert found.iloc[:, 0].tolist() == pytest.approx([math.nan, 1, math.nan], nan_ok=True)
    assert list(found.index) == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2], 3), ([INF, 1], INF), ([-INF, 1], -INF), ([INF, -INF], math.nan),
     ([INF, math.nan], math.nan),
     ([INF, -INF, math.nan], math.nan)],
)  # fmt: skip
def test_totals_with_infinities(values, expected):
    assert float(total(np.array(values, float))) == pytest.approx(expected, nan_ok=True)


def test_logs():
    assert logs(frame({(): [1, 0]})).iloc[:, 0].tolist() == [0, -INF]
    with pytest.raises(UserError, match="negative"):
        logs(frame({(): [1, -1]}))
