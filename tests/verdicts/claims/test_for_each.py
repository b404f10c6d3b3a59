"""Claims for each value of some names."""

import pytest

from verdicts.claims.for_each import expanded
from verdicts.registry import UserError


def test_an_entry_is_one_claim_for_each_combination():
    entry = {
        "for_each": {"data": ["mnist", "digits"], "p": [0.5, 1]},
        "says": "with p = {p} on {data}", "where": {"dataset": "{data}", "p": ["{p}", 2]},
    }  # fmt: skip
    found = expanded({"a-{data}-{p}": entry, "b": {"says": "x"}})
    assert list(found) == ["a-mnist-0.5", "a-mnist-1", "a-digits-0.5", "a-digits-1", "b"]
    assert found["a-digits-0.5"] == {
        "says": "with p = 0.5 on digits", "where": {"dataset": "digits", "p": [0.5, 2]}
    }  # fmt: skip
    assert "for_each" in entry


def test_a_value_may_have_parts():
    entry = {
        "for_each": {"data": [{"id": "mnist", "name": "MNIST"}, {"id": "cifar", "name": "CIFAR"}]},
        "says": "on {data.name}", "where": {"dataset": "{data.id}"},
    }  # fmt: skip
    found = expanded({"a-{data.id}": entry})
    assert found["a-cifar"] == {"says": "on CIFAR", "where": {"dataset": "cifar"}}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"a": {"for_each": {"d": ["x", "y"]}}}, "claims.a: the id needs {d}"),
        ({"a-{e}": {"for_each": {"d": ["x"]}}}, "{e} has no value in for_each"),
        ({"a-{d.f}": {"for_each": {"d": ["x"]}}}, "{d.f} has no value in for_each"),
        ({"a": {"for_each": []}}, "for_each: [] is not allowed; give NAME: [values]"),
        ({"a": {"for_each": {"d": "x"}}}, "for_each.d: 'x' is not allowed; give a list"),
        ({"a": {"for_each": {"d": []}}}, "for_each.d: [] is not allowed; give a list"),
        ({"a-{d}": {"for_each": {"d": list(range(1001))}}}, "1001 claims; at most 1000"),
        ({"a-x": {}, "a-{d}": {"for_each": {"d": ["x"]}}}, "the id 'a-x' occurs twice"),
    ],
)
def test_mistakes_are_named_in_one_line(entries, said):
    with pytest.raises(UserError) as error:
        expanded(entries)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
