"""From evidence to verdicts, and rules on settings."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import cases

from verdicts.statistics import judgement
from verdicts.statistics.evidence import Expectation, evidence
from verdicts.statistics.judgement import Verdict, holm, judge, judge_depends, judge_every
from verdicts.statistics.planning import sequential
from verdicts.statistics.setting_rules import LEAVES, find_rule, fitted, readable, spoken, sums_of

NOISE = np.array([-1.2, -0.5, 0.1, 0.4, 1.2])


@cases(
    "mean, relation, margin, expected",
    (3, "above", None, "holds"),
    (3, "below", None, "reversed"),
    (-3, "below", None, "holds"),
    (0.3, "above", None, "undecided"),
    (0.3, "above", 0.5, "undecided"),
    (3, "above", 5, "equivalent"),  # the margin counts as none
    (9, "above", 5, "holds"),
    (0.3, "near", 5, "holds"),
    (0.3, "near", 0.5, "undecided"),
    (-3, "near", 0.5, "fails"),
)
def test_verdicts(mean, relation, margin, expected):
    (found,) = judge([evidence(mean + NOISE, Expectation(relation, 0, margin))])
    assert found.verdict == expected


@pytest.mark.parametrize(
    ("mean", "printed", "expected"),
    [(9, 9.5, "consistent"), (9, 20, "not met"), (1.5, 1.4, "cannot be told"), (1.5, 9, "not met")],
)
def test_a_printed_number_is_told_from_zero_or_not(mean, printed, expected):
    (found,) = judge([evidence(mean + NOISE, Expectation("paper", printed))])
    low, high = found.interval
    assert found.verdict == expected
    assert (low <= printed <= high) == (expected != "not met")


@cases(
    "value, relation, margin, expected",
    (3, "above", None, "holds"), (3, "below", None, "reversed"),
    (0, "above", None, "equivalent"), (-3, "above", None, "reversed"),
    (3, "above", 5, "equivalent"),
    (5, "above", 5, "equivalent"), (6, "above", 5, "holds"), (-6, "above", 5, "reversed"),
    (5, "near", 5, "holds"), (6, "near", 5, "fails"), (0, "paper", None, "consistent"),
    (6, "paper", None, "not met"),
)  # fmt: skip
def test_an_exact_number_is_decided_by_its_value(value, relation, margin, expected):
    found = judgement.judge_exact(evidence(np.full(9, value), Expectation(relation, 0, margin)))
    assert found.verdict == expected
    assert np.isnan([found.evidence.p, found.evidence.p_equivalent, found.p_adjusted]).all()


def test_the_levels_that_holm_leaves():
    adjusted, levels = holm([0.01, 0.2, float("nan"), 0.001])
    assert adjusted[:2] + adjusted[3:] == pytest.approx([0.02, 0.2, 0.003])
    assert levels == pytest.approx([0.025, 0.05, 0.05, 0.05 / 3])
    assert holm([0.2, 0.6])[0] == pytest.approx([0.4, 0.6])
    # none is smaller than that of a smaller p: 1 × 0.04 is below 2 × 0.03
    assert holm([0.04, 0.01, 0.03])[0] == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.2, 0.3])[1] == pytest.approx([0.025, 0.025])
    assert holm([])[0] == []


@pytest.mark.parametrize("plan", [(), (5, 10, 20)])
def test_no_verdict_contradicts_its_interval(plan):
    """Random families: the interval is on the side of the verdict, or inside the margin."""
    stream = np.random.default_rng(len(plan))
    asked = Expectation("above", 0, 0.5), Expectation("below", 0), Expectation("near", 0, 0.5)
    seen = set()
    for _ in range(60):
        found = []
        for _ in range(stream.integers(1, 5)):
            values = stream.normal(stream.choice([0, 0.2, 1]), stream.choice([0.2, 1]), 14)
            of = asked[stream.integers(3)]
            found.append(sequential(values, of, plan) if plan else evidence(values, of))
        for judged in judge(found):
            low, high = judged.interval
            of = judged.evidence.expectation
            edge = of.margin or 0.0
            inside = -edge < low <= high < edge
            seen.add(judged.verdict)
            if judged.verdict == "undecided":
                assert low <= edge
                assert high >= -edge
                assert not inside
            elif of.relation == "near" and judged.verdict == "fails":
                assert low > edge or high < -edge
            elif of.relation == "near" or judged.verdict == "equivalent":
                assert inside
            else:
                right = (judged.verdict == "holds") == (of.relation == "above")
                assert low > 0 if right else high < 0
    assert seen == {"holds", "reversed", "fails", "equivalent", "undecided"}


def test_the_family_is_corrected_for():
    near_five_percent = evidence(1.3 + NOISE, Expectation("above", 0))
    assert 0.025 < near_five_percent.p < 0.05
    (alone,) = judge([near_five_percent])
    first, _ = judge([near_five_percent, evidence(0.1 + NOISE, Expectation("above", 0))])
    assert (alone.verdict, first.verdict, first.family) == ("holds", "undecided", 2)
    assert first.p_adjusted == pytest.approx(2 * near_five_percent.p)


def test_a_correction_makes_success_harder_never_easier():
    """What is claimed is adjusted; what speaks against it is not."""
    close, far = (evidence(mean + NOISE, Expectation("above", 0, 3)) for mean in (2, 9))
    assert judge([close, far, far])[0].verdict == judge([close])[0].verdict == "equivalent"
    near, other = (evidence(NOISE, Expectation("near", 0, margin)) for margin in (1.0, 9.0))
    assert 0.025 < near.p_equivalent < 0.05
    assert judge([near])[0].verdict == "holds"
    assert judge([near, evidence(NOISE, Expectation("near", 0, 0.1))])[0].verdict == "undecided"
    printed = evidence(9 + NOISE, Expectation("paper", 12.2))
    assert 0.02 < printed.p < 0.05
    for family in ([printed], [printed, other, far]):
        found = judge(family)[0]
        assert (found.verdict, found.family, found.level) == ("not met", 1, 0.05)
    assert judge([far, printed, other])[0].family == 2


def test_the_interval_has_the_level_of_its_test_and_the_plain_one_is_of_95_percent():
    values = np.concatenate([NOISE, NOISE + 0.1, NOISE - 0.1, NOISE]) + 1
    looked = sequential(values, Expectation("above", 0, 0.1), (10, 20))
    holds, other = judge([looked, sequential(-values, Expectation("above", 0), (10, 20))])
    assert (holds.verdict, other.verdict, holds.interval_level) == ("holds", "reversed", 0.025)
    assert holds.interval == looked.interval(0.025)
    plain = evidence(values, Expectation("above", 0, 0.1)).interval(0.05)
    assert holds.plain_interval == plain != holds.interval
    (within,) = judge([evidence(NOISE, Expectation("above", 0, 3))])
    assert (within.verdict, within.interval_level) == ("equivalent", 0.1)


def test_a_wide_interval_of_a_level_tells_nothing_and_ends_with_the_scale():
    for scale, noise, expected in (((0, 100), 6, "cannot be told"), ((0, 100), 1, "consistent")):
        (found,) = judge([evidence(95 + noise * NOISE, Expectation("paper", 94, scale=scale))])
        assert found.verdict == expected
        assert found.interval[1] == (100 if noise == 6 else found.evidence.interval(0.05)[1])
    (found,) = judge([evidence(95 + 6 * NOISE, Expectation("paper", 94))])
    assert (found.verdict, found.interval[1] > 100) == ("consistent", True)


@cases(
    "off, expected",
    ([0] * 6 + [3], "consistent"),  # one of seven is outside by chance
    ([0] * 6 + [30], "not met"),  # not so far
    ([0] * 4 + [3] * 3, "not met"),  # nor so many
    ([0], "consistent"),
    ([3], "not met"),
)
def test_some_printed_numbers_are_outside_by_chance(off, expected):
    cells = [evidence(9 + NOISE, Expectation("paper", 9 + each)) for each in off]
    assert judge_every(judge(cells)).verdict == expected
    zero = evidence(NOISE, Expectation("paper", 0))
    told = [evidence(9 + NOISE, Expectation("paper", 9)), zero, zero]
    assert judge_every(judge(told)).verdict == "cannot be told"
    assert judge_every([*judge(cells), Verdict("not run")]).verdict in ("undecided", "not met")


def test_cases_must_all_be_met():
    cases = pd.DataFrame({"case": ["n = 2", "n = 5"], "measured": [0.9, 0.5], "limit": 1})
    cases["met"] = True
    hardest = {"hardest": "n = 2", "hardest_measured": 0.9, "hardest_limit": 1.0}
    assert judgement.judge_cases(cases) == Verdict("holds", met=2, cases=2, **hardest)
    cases["met"] = [True, False]
    hardest = {"hardest": "n = 5", "hardest_measured": 0.5, "hardest_limit": 1.0}
    reason = "met in 1 of 2 cases; not in n = 5"
    assert judgement.judge_cases(cases) == Verdict("fails", reason, met=1, cases=2, **hardest)
    cases["met"] = [True, None]
    assert judgement.judge_cases(cases).verdict == "fails"
    assert judgement.judge_cases(cases[:0]).verdict == "not run"


@cases(
    "cells, expected",
    (["holds", "holds"], "holds"),
    (["holds", "fails", "not run"], "fails"),
    (["holds", "reversed"], "fails"),
    (["reversed", "reversed"], "reversed"),
    (["consistent", "not met"], "not met"),
    (["consistent", "cannot be told"], "cannot be told"),
    (["equivalent", "equivalent"], "equivalent"),
    (["holds", "undecided"], "undecided"),
    (["holds", "not run"], "undecided"),
    (["not run", "not run"], "not run"),
)
def test_a_claim_about_every_cell(cells, expected):
    found = judge_every([Verdict(name, "a reason") for name in cells])
    assert found.verdict == expected
    alike = len({*cells}) == 1
    assert (found.reason == "in all 2 cells") == (alike and expected != "not run")
    assert found.reason


@cases(
    "cells, expected",
    (["holds", "reversed"], "depends"),
    (["holds", "equivalent", "undecided"], "depends"),
    (["consistent", "not met"], "depends"),
    (["holds", "holds"], "holds"),
    (["holds", "undecided"], "undecided"),
    (["reversed", "equivalent"], "fails"),
)
def test_a_claim_whose_author_leaves_a_setting_open(cells, expected):
    found = judge_depends("γ", {f"γ = {k}": [Verdict(name)] for k, name in enumerate(cells)})
    assert found.verdict == expected
    if expected == "depends":
        assert found.reason.startswith(f"on γ: {cells[0]} at γ = 0; ")


def test_values_of_an_open_setting_are_compared_and_not_its_cells():
    some = [Verdict("consistent"), Verdict("not met")]
    assert judge_depends("rule", {"a": some, "b": some[::-1]}).verdict == "not met"
    found = judge_depends("rule", {"a": some, "b": some[:1]})
    assert found == Verdict("depends", "on rule: consistent at b; not met at a")


COUNT = 200
STREAM = np.random.default_rng(5)
INSIDE = STREAM.random(40) < 0.5
ANSWERS = STREAM.random((40, 6)) < 0.5
OWNERS = np.array([0, 0, 0, 1, 1, 1])
WHOLE = np.ones((1, 40), dtype=bool)


@pytest.fixture
def settings():
    stream = np.random.default_rng(1)
    found = pd.DataFrame({"gamma": stream.random(COUNT), "p": 0.5 + stream.random(COUNT) / 2})
    found["batch_size"] = stream.choice([16, 32, 64], COUNT)
    found["rule"] = stream.choice(["adam", "momentum", "sgd"], COUNT)
    return found.assign(same_start=stream.choice(["False", "True"], COUNT))


@cases(
    "holds, text, named",
    (lambda s: s.gamma <= 0.3, "γ ≤ 0.3", ["gamma"]),
    (lambda s: s.gamma > 0.3, "γ > 0.3", ["gamma"]),
    (lambda s: (s.gamma > 0.2) & (s.gamma <= 0.7), "0.2 < γ ≤ 0.7", ["gamma"]),
    (lambda s: (s.gamma <= 0.6) & (s.p > 0.7), "γ ≤ 0.6 and p > 0.7", ["gamma", "p"]),
    (lambda s: s.batch_size > 16, "batch size > 16", ["batch_size"]),
    (lambda s: s.rule == "sgd", "rule is sgd", ["rule"]),
    (lambda s: s.rule != "sgd", "rule is not sgd", ["rule"]),
    (lambda s: s.same_start == "True", "same start is True", ["same_start"]),
)
def test_a_rule_is_found_and_written(settings, holds, text, named):
    found = find_rule(holds(settings).to_numpy(), settings)
    assert found.text == text
    assert tuple(found.settings) == tuple(named)
    assert found.accuracy > 0.95
    assert found.p < 0.001


def test_settings_have_names_to_read():
    names = ["gamma", "chatter_floor", "gamma_gap", "lr"]
    assert [*map(spoken, names)] == ["γ", "chatter floor", "γ(1 − λ₂)", "lr"]


def test_a_rule_may_name_two_boxes(settings):
    found = find_rule(((settings.gamma <= 0.5) == (settings.p > 0.7)).to_numpy(), settings)
    assert tuple(found.settings) == ("gamma", "p")
    assert found.accuracy > 0.9
    assert ", or " in found.text
    either = ((settings.gamma <= 0.2) | (settings.p > 0.9)).to_numpy()
    assert find_rule(either, settings).text in ("γ ≤ 0.2, or p > 0.9", "p > 0.9, or γ ≤ 0.2")


def test_noise_is_survived_and_settings_that_tell_nothing_have_no_rule(settings):
    stream = np.random.default_rng(2)
    inside = (settings.gamma <= 0.4).to_numpy() ^ (stream.random(COUNT) < 0.1)
    found = find_rule(inside, settings)
    assert tuple(found.settings) == ("gamma",)
    assert 0.8 < found.accuracy < 0.95
    stream = np.random.default_rng(3)
    for share in (0.5, 0.8):
        assert find_rule(stream.random(COUNT) < share, settings).text == ""
    assert find_rule(np.ones(COUNT, dtype=bool), settings).text == ""
    assert find_rule(stream.random(COUNT) < 0.5, settings[[]]).text == ""


def test_a_rule_that_mends_few_mistakes_is_none(settings):
    """It is right more often than chance: in 65 % of the universes."""
    stream = np.random.default_rng(4)
    inside = (settings.gamma <= 0.5).to_numpy() ^ (stream.random(COUNT) < 0.35)
    found = find_rule(inside, settings)
    assert (found.text, found.p) == ("", 1.0)


@pytest.mark.parametrize(
    ("low", "high", "number"),
    [(0.2973, 0.304, 0.3), (0.0123, 0.0188, 0.013), (-0.5, 0.2, 0.0), (-3.25, -3.1, -3.2),
     (32, 64, 40), (1e-5, 3e-5, 1e-5), (0.998, 0.9991, 0.998), (2, 3, 2)],
)  # fmt: skip
def test_cuts_are_readable(low, high, number):
    assert readable(low, high) == number
    assert low <= number < high


def right(groups):
    """In how many universes a tree is right whose leaves are these groups."""
    return sum(max(INSIDE[group].sum(), (~INSIDE[group]).sum()) for group in groups)


def leaves_of(root, children):
    for true, child in zip((True, False), children, strict=True):
        side = ANSWERS[:, root] == true
        if child < 0:
            yield side
        else:
            yield from (side & ANSWERS[:, child], side & ~ANSWERS[:, child])


def test_no_tree_of_its_size_is_right_more_often():
    splits = range(6)
    pairs = [pair for pair in product(splits, splits) if OWNERS[pair[0]] == OWNERS[pair[1]]]
    shapes = [[(-1, -1)], [(k, -1) for k in splits] + [(-1, k) for k in splits], pairs]
    (sums,) = sums_of(INSIDE, ANSWERS, WHOLE)
    for tree, children in zip(fitted(sums, OWNERS), shapes, strict=True):
        best = max(right(leaves_of(root, pair)) for root in splits for pair in children)
        assert (tree.say(ANSWERS) == INSIDE).sum() == best
    assert len(LEAVES) == 3
