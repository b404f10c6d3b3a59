import pandas as pd
import pytest

from verdicts.registry import UserError
from verdicts.statistics.cases import cases, hardest


def made(measured, limit, met):
    return pd.DataFrame({"case": list("abc"), "measured": measured, "limit": limit, "met": met})


def test_the_hardest_case_is_the_furthest_beyond_its_limit():
    assert hardest(made([3.0, 30, 0.1], 1.0, [False, False, True]))["case"] == "b"
    assert hardest(made([0.1, 0.5, 0.2], 1.0, [True, True, True]))["case"] == "b"
    assert hardest(made([1e-3, float("inf"), 2], 1.0, [True, False, False]))["case"] == "b"
    assert hardest(made([0.1, 0.0, 3], 0.0, [False, True, False]))["case"] in "ac"


def test_no_rows_decide_nothing():
    rows = pd.DataFrame({"n": [2, 5], "x": [1.0, 2.0]})
    found = cases(rows, ("n",), rows["x"], 1.5, rows["x"] <= 1.5)
    assert found["case"].tolist() == ["n 2", "n 5"]
    assert found["met"].tolist() == [True, False]
    with pytest.raises(UserError, match="^cases: no row is left"):
        cases(rows[:0], ("n",), rows["x"][:0], 1.5, rows["x"][:0] <= 1.5)


def test_a_hardest_case_may_lack_numbers_and_have_any_index():
    table = made([1.0, "x", 2.0], [1.0, 1.0, None], [True, True, None]).set_axis([7, 7, 7])
    assert hardest(table)["case"] == "c"
    assert hardest(table[:2])["case"] == "a"
