"""Entries of a claims file, checked."""

import pytest

from verdicts.claims.entries import boolean, check_keys, mapping, names, number, one_of, text
from verdicts.registry import UserError


def test_what_is_right_comes_back():
    assert (mapping("k", {1: 2}), names("k", "a"), names("k", ["a", "b"])) == (
        {1: 2}, ("a",), ("a", "b")
    )  # fmt: skip
    assert (text("k", " a \n"), number("k", 2), boolean("k", False)) == ("a", 2, False)
    assert one_of("k", "a", ["a", "b"]) == "a"
    check_keys("k", {"a": 1}, ("a", "b"), ("a",))


@pytest.mark.parametrize(
    ("check", "value"),
    [(mapping, []), (names, []), (names, [1]), (names, None), (text, "a\nb"), (text, 1),
     (number, True), (number, float("inf")), (number, "1"), (boolean, 1)],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_key(check, value):
    with pytest.raises(UserError, match=r"^claims\.a: .* is not allowed; it must be"):
        check("claims.a", value)


def test_unknown_and_missing_names_are_named():
    with pytest.raises(UserError, match="^k: 'aa' is unknown; allowed: a, b. Did you mean 'a'"):
        one_of("k", "aa", ["a", "b"])
    with pytest.raises(UserError, match="^k: 'c' is unknown; allowed: a, b"):
        check_keys("k", {"c": 1}, ("a", "b"), ())
    with pytest.raises(UserError, match="^k: 'b' is missing"):
        check_keys("k", {"a": 1}, ("a", "b"), ("b",))
