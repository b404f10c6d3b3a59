"""What a claim expects, in words."""

from verdicts.statistics.expectation import Expectation


def test_expectations_are_printed_in_a_few_words():
    assert str(Expectation("above", 0)) == "above 0"
    assert str(Expectation("below", 1.5, 0.25)) == "below 1.5; margin 0.25"
    assert str(Expectation("near", -1, 0.2)) == "near -1 ± 0.2"
    assert str(Expectation("paper", 83.87, 2)) == "paper 83.87 ± 2"
