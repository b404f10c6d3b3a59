import pandas as pd
import pytest

from ngo.analysis.theory_cases import by_seed, cases, part
from ngo.common.registry import UserError


def test_a_part_has_the_columns_of_its_kind():
    table = pd.DataFrame({"kind": ["a", "b"], "x": [1.0, None], "y": [None, 2.0]})
    assert part(table, "a").to_dict("list") == {"x": [1.0]}
    with pytest.raises(UserError, match="^kind: the theory table has no rows of kind 'c'"):
        part(table, "c")


def test_no_rows_decide_nothing():
    rows = pd.DataFrame({"n": [2, 5], "x": [1.0, 2.0]})
    found = cases(rows, ("n",), rows["x"], 1.5, rows["x"] <= 1.5)
    assert found["case"].tolist() == ["n 2", "n 5"]
    assert found["met"].tolist() == [True, False]
    with pytest.raises(UserError, match="^cases: the theory table has no row"):
        cases(rows[:0], ("n",), rows["x"][:0], 1.5, rows["x"][:0] <= 1.5)


def test_seeds_are_whole_numbers():
    assert by_seed(pd.Series([1, 2], index=[0.0, 7.0])).index.tolist() == [0, 7]
