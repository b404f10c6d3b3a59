from dataclasses import replace

import pandas as pd
import pytest
from small_theory import OPTIONS

from ngo.common.registry import UserError
from ngo.measures.measurement import MEASUREMENTS
from ngo.measures.theory_table import TheoryOptions, theory_table
from ngo.theorems.kinds import KINDS, rows_of
from ngo.theorems.parts import PARTS

# The columns are asked for alone.
SMALLEST = replace(
    OPTIONS, topologies=("ring",), draws=1, delay_rounds=60, starts=1, random_rounds=20,
    floor_dimension=2, steps=20, points=3, repeats=2, trials=1, trial_steps=20, trial_repeats=2,
    lemma_states=20,
)  # fmt: skip


def test_each_kind_keeps_its_own_columns(tmp_path):
    theory_table(SMALLEST).to_parquet(tmp_path / "theory.parquet")
    table = pd.read_parquet(tmp_path / "theory.parquet")
    assert list(table["kind"].unique()) == list(KINDS) == list(PARTS)
    for kind, columns in KINDS.items():
        rows = rows_of(table, kind)
        assert set(rows) == set(columns)
        assert not rows.isna().any(axis=None)
    MEASUREMENTS["theory"].check_columns(table)
    assert sorted(rows_of(table, "delays")["p"].unique()) == [0.5, 0.75, 1]
    assert sorted(rows_of(table, "floors")["p"].unique()) == [0.75]


def test_the_largest_value_of_a_list_counts():
    with pytest.raises(UserError, match="^delay_rounds: workers × delay_rounds is 20,000,000; it"):
        TheoryOptions(workers=(2, 200), delay_rounds=100_000)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"workers": (200,), "floor_dimension": 100_000}, "^floor_dimension: workers × floor_dim"),
        ({"sgd_workers": 200, "samples": 100_000}, "^dimension: sgd_workers × samples × dimension"),
        ({"batch_size": 100_000}, "^repeats: sgd_workers × batch_size × dimension × repeats is 50"),
        ({"steps": 1_000_000, "repeats": 1000}, "^repeats: steps × repeats is 1,000,000,000"),
        ({"samples": 4}, "^dimension: 5 is more than a worker's 4 samples.* it must be 4 or less"),
    ],
)
def test_options_that_ask_for_too_much_together_are_refused(values, message):
    with pytest.raises(UserError, match=message):
        replace(TheoryOptions(), **values)
