from dataclasses import replace

import pytest
from small_theory import small_parts, small_table

from ngo.common.registry import UserError
from ngo.measures.theorems.parts import PARTS
from ngo.measures.theory import TheoryOptions


def test_each_part_keeps_its_own_columns(tmp_path):
    parts = small_parts(tmp_path)
    assert list(parts) == list(PARTS)
    assert sum(map(len, parts.values())) == len(small_table())
    assert sorted(parts["delays"]["p"].unique()) == [0.5, 0.75, 1]
    assert sorted(parts["floors"]["p"].unique()) == [0.75]
    assert not any(table.isna().any(axis=None) for table in parts.values())
    assert all(len(table) for table in parts.values())
    assert "residual" in parts["delays"]
    assert "residual" not in parts["gaps"]


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
