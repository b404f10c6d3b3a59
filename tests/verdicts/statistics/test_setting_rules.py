"""Rules on settings: what they find, and how they are written."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import cases

from verdicts.statistics.setting_rules import LEAVES, find_rule, fitted, readable, spoken, sums_of

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
