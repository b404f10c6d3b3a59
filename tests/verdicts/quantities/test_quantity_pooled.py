"""One number a seed from those of several claims."""

import math

import pandas as pd

from verdicts.quantities.differences import pooled


def test_it_is_the_mean_of_each_seed_and_divergence_counts():
    rows = pd.DataFrame(
        {"a": [1.0, 2.0, math.inf, math.inf], "b": [3.0, math.nan, 1.0, -math.inf]},
        index=pd.Index([100, 101, 102, 103], name="seed"),
    )
    found = pooled(rows, ["a", "b"])
    assert found[[100, 102]].tolist() == [2.0, math.inf]
    assert found[[101, 103]].isna().all()
