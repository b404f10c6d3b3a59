import pandas as pd
import pytest
from small_theory import OPTIONS

from ngo.common.registry import UserError
from ngo.theorems.theorem import PARTS, Part, by_seed, checked_form, rows_of
from verdicts.quantity_registry import QUANTITIES


def test_each_file_that_measures_a_theorem_judges_it():
    def files(registry):
        found = {each.partition(":")[0] for each in registry.definitions.values()}
        return {each for each in found if each.startswith("ngo.theorems.")}

    assert files(PARTS) == files(QUANTITIES)
    assert {"bounds", "gaps"} <= set(PARTS)


def test_rows_become_a_table():
    part = Part(lambda s: ((n,) for n in s.workers), ("n",))
    assert part.table(OPTIONS).to_dict("list") == {"n": [2, 5]}


def test_the_rows_of_a_kind_have_its_columns():
    table = pd.DataFrame({"kind": ["a", "b"], "x": [1.0, None], "y": [None, 2.0]})
    assert rows_of(table, "a").to_dict("list") == {"x": [1.0]}
    with pytest.raises(UserError, match="^kind: the theory table has no rows of kind 'c'"):
        rows_of(table, "c")


def test_an_unknown_form_is_refused():
    assert checked_form("a", "ab") == "a"
    with pytest.raises(UserError, match=r"^form: 'c' is unknown; allowed: a, b\."):
        checked_form("c", "ab")


def test_seeds_are_whole_numbers():
    assert by_seed(pd.Series([1, 2], index=[0.0, 7.0])).index.tolist() == [0, 7]
