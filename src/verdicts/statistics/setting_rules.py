"""Rules on at most two settings that tell some universes from the others; numbers as text.

A rule is a tree with two, three or four leaves: a split on one setting, whose sides may be split
once more, on one setting too. Among all such trees, the one that is right in most universes is
found by counting. It is a rule only if it does better than always saying the more frequent answer,
in universes that it was not fitted to (cross-validation).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from verdicts.lazy import pd, special
from verdicts.registry import UserError, shown
from verdicts.statistics.samples import ABSENT, ALPHA

FOLDS = 5

#: The sizes of trees. A tree has a root; one of its sides, or both, may be split once more.
LEAVES = (2, 3, 4)

#: The most places where a numeric setting is cut: after every twentieth of the universes.
CUTS = 19

#: The most values that a setting without numbers may have.
CATEGORIES = 12

#: A rule makes at most so many of the mistakes of the more frequent answer.
GAIN = 0.5


class Rule(NamedTuple):
    """The best rule, whether or not it is good enough."""

    #: ``γ ≤ 0.3 and p > 0.9``; empty if no rule does better than the more frequent answer.
    text: str
    #: The share of universes in which it is right, cross-validated.
    accuracy: float
    #: Of the null hypothesis that settings tell nothing: an exact sign test, for all sizes.
    p: float
    #: The settings that it names, in their order, with the values that it asks for.
    settings: Mapping[str, set[Any]] = {}


NONE = Rule("", math.nan, 1.0)


class Split(NamedTuple):
    """A question about a setting: ``setting ≤ value``, or for categories ``setting is value``."""

    setting: str
    value: float | str
    #: The only other category; empty if there are more.
    other: str = ""


#: An answer to a split.
Condition = tuple[Split, bool]


def find_rule(inside: np.ndarray, settings: pd.DataFrame) -> Rule:
    """The rule that tells the universes ``inside`` from the others, by their ``settings``.

    ``inside`` has a truth value for each row of ``settings``. A larger tree must do better in
    cross-validation than a smaller one (exact sign test of the universes in which one of them is
    right and the other is not), and the smallest than the more frequent answer.
    """
    splits, answers = _questions(settings)
    if not splits or inside.all() or not inside.any():
        return NONE
    owners = np.array([settings.columns.get_loc(split.setting) for split in splits])
    # folds at random, with the same share of those inside
    order = np.lexsort([np.random.default_rng(0).random(len(inside)), inside])
    fold = np.argsort(order) % FOLDS
    said = np.empty((len(LEAVES), len(inside)), dtype=bool)
    for k, sums in enumerate(sums_of(inside, answers, np.arange(FOLDS)[:, None] != fold)):
        for size, tree in enumerate(fitted(sums, owners)):
            said[size, fold == k] = tree.say(answers[fold == k])
    frequent = right = np.full(len(inside), inside.mean() > 0.5) == inside
    best = -1
    for size, correct in enumerate(said == inside):
        if _sign_test(correct, right) <= ALPHA / len(LEAVES):
            best, right = size, correct
    accuracy = float(right.mean())
    if best < 0 or 1 - accuracy > GAIN * min(inside.mean(), 1 - inside.mean()):
        return NONE
    (whole,) = sums_of(inside, answers, np.ones((1, len(inside)), dtype=bool))
    boxes = _boxes(fitted(whole, owners)[best], splits)
    asked = [split for box in boxes for split, _ in box]
    values = {str(name): {of.value for of in asked if of.setting == name} for name in settings}
    p = min(1.0, len(LEAVES) * _sign_test(right, frequent))
    named = {name: some for name, some in values.items() if some}
    return Rule(", or ".join(map(_words, boxes)), accuracy, p, named)


def _questions(settings: pd.DataFrame) -> tuple[list[Split], np.ndarray]:
    """The splits, and whether each is true: universes × splits.

    At least a twentieth of the universes is on either side.
    """
    answers: dict[Split, np.ndarray] = {}
    for name, values in settings.items():
        if is_number(values):
            numbers = values.to_numpy(dtype=float)
            answers |= {Split(str(name), t): numbers <= t for t in _cuts(numbers)}
        else:
            every = sorted(values.unique())
            # Of two categories, one question is enough.
            other = str(every.pop()) if len(every) == 2 else ""
            some = every[:CATEGORIES]
            answers |= {Split(str(name), str(v), other): (values == v).to_numpy() for v in some}
    least = len(settings) / (CUTS + 1)
    kept = {q: true for q, true in answers.items() if min(true.sum(), (~true).sum()) >= least}
    return list(kept), np.array(list(kept.values()), dtype=bool).T


def is_number(values: pd.Series) -> bool:
    """Whether a setting has numbers, which truth values are not."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _cuts(values: np.ndarray) -> list[float]:
    """Where a numeric setting is cut: readable numbers between neighbouring sampled values."""
    ordered = np.sort(values)
    distinct = np.unique(ordered)
    if len(distinct) <= CATEGORIES:  # a grid: its own values
        return distinct[:-1].tolist()
    count = len(ordered)
    near = count // 50  # a cut may be so many universes off, for the sake of a readable number
    places = np.arange(1, CUTS + 1) * count // (CUTS + 1)
    lows, highs = ordered[np.clip([places - 1 - near, places + near], 0, count - 1)].tolist()
    return sorted({readable(*pair) for pair in zip(lows, highs, strict=True) if pair[0] < pair[1]})


def readable(low: float, high: float) -> float:
    """The number with the fewest digits that is at least ``low`` and below ``high``."""
    if low <= 0 < high:
        return 0.0
    exponent = math.floor(math.log10(max(abs(low), abs(high))))
    for step in range(exponent, exponent - 16, -1):
        value = float(f"{math.ceil(low / 10.0**step)}e{step}")
        if low <= value < high:
            return value
    return float(low)


def _sign_test(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The exact one-sided p value of being right more often than the other is."""
    wins, losses = (ours & ~theirs).sum(), (theirs & ~ours).sum()
    return float(special.bdtrc(wins - 1, wins + losses, 0.5)) if wins else 1.0


def _boxes(tree: Tree, splits: Sequence[Split]) -> list[list[Condition]]:
    """Where the tree says yes: the conditions of its leaves, put together where they can be."""
    boxes = []
    whole = [all(leaves) for leaves in tree.leaves]
    for side, (child, leaves) in enumerate(zip(tree.children, tree.leaves, strict=True)):
        if any(leaves):
            # "γ ≤ 0.1, or γ > 0.1 and p > 0.9" is "γ ≤ 0.1, or p > 0.9".
            needed = whole[side] or not whole[1 - side]
            box = [(splits[tree.root], side == 0)] if needed else []
            boxes.append(box if whole[side] else [*box, (splits[child], leaves[0])])
    return boxes


def _words(box: Sequence[Condition]) -> str:
    """``0.1 < γ ≤ 0.3 and p > 0.9``."""
    by_setting = groupby(box, lambda condition: condition[0].setting)
    return " and ".join(_interval(list(conditions)) for _, conditions in by_setting)


def _interval(conditions: Sequence[Condition]) -> str:
    """``0.1 < γ ≤ 0.3``, ``schedule is cosine``."""
    name = spoken(conditions[0][0].setting)
    values = [(split.value, true) for split, true in conditions]
    if any(isinstance(value, str) for value, _ in values):
        said = [s.value if true else s.other or f"not {s.value}" for s, true in conditions]
        return " and ".join(f"{name} is {value}" for value in said)
    above = [value for value, true in values if not true]
    below = [value for value, true in values if true]
    if above and below:
        return f"{_number(max(above))} < {name} ≤ {_number(min(below))}"
    return f"{name} > {_number(max(above))}" if above else f"{name} ≤ {_number(min(below))}"


def _number(value: float | str) -> str:
    return f"{value:.12g}".replace("-", "−")


def cut_at(values: pd.Series, cuts: Iterable[float] = ()) -> list[str]:
    """The part of each value in words: numbers are cut at ``cuts``, without any at their median."""
    name = str(values.name)
    if not is_number(values):
        return [f"{spoken(name)} is {value}" for value in values]
    splits = [Split(name, cut) for cut in sorted(cuts) or [float(f"{values.median():.2g}")]]
    above, below = [[], *([(s, False)] for s in splits)], [*([(s, True)] for s in splits), []]
    words = [_interval([*one, *other]) for one, other in zip(above, below, strict=True)]
    return [words[k] for k in np.searchsorted([float(s.value) for s in splits], values)]


#: A condition of a rule as text: ``0.1 < γ ≤ 0.3``, ``schedule is not cosine``.
CONDITION = re.compile(r"(?:(\S+) < )?(.+?) (≤|>|is not|is) (\S+)")


def meets(rule: str, settings: pd.DataFrame) -> pd.Series:
    """Whether each universe meets a rule, by the text of ``Rule``; none meets an empty one."""
    named = {spoken(str(name)): values for name, values in settings.items()}
    met = pd.Series(False, index=settings.index)
    for box in rule.split(", or ") if rule else []:
        met |= np.logical_and.reduce([_fulfils(part, named) for part in box.split(" and ")])
    return met


def _fulfils(condition: str, named: Mapping[str, pd.Series]) -> pd.Series:
    if not (match := CONDITION.fullmatch(condition)):
        raise UserError(f"the condition {shown(condition)} of a rule cannot be read")
    low, name, sign, value = match.groups()
    if "is" in sign:
        return (named[name] == value) == (sign == "is")
    inside = (named[name] <= _value(value)) == (sign == "≤")
    return inside & (named[name] > _value(low)) if low else inside


def _value(text: str) -> float:
    return float(text.replace("−", "-"))


#: Universes inside minus others: of all, by split, and by pair of splits that are true.
Sums = tuple[float, np.ndarray, np.ndarray]


def sums_of(inside: np.ndarray, answers: np.ndarray, chosen: np.ndarray) -> list[Sums]:
    """For each row of ``chosen``, a subset of universes."""
    signs = (np.where(inside, 1, -1) * chosen).astype(np.float32)  # exact: they are counts
    true = answers.astype(np.float32)
    return [(sign.sum(), sign @ true, (true.T * sign) @ true) for sign in signs]


class Tree(NamedTuple):
    """A split and, on each of its sides, a split that may be none; the answer of each leaf."""

    root: int
    #: The split of the side where the root is true, and of the other; −1: none.
    children: tuple[int, int]
    #: By the answer to the root, and to the child: true, then false.
    leaves: tuple[tuple[bool, bool], tuple[bool, bool]]

    def say(self, answers: np.ndarray) -> np.ndarray:
        """Whether each universe is inside, by its answers to the splits."""
        both = zip(self.children, self.leaves, strict=True)
        true, false = (np.where(answers[:, child], *leaves) for child, leaves in both)
        return np.where(answers[:, self.root], true, false)


def fitted(sums: Sums, owners: np.ndarray) -> list[Tree]:
    """The tree of each of the sizes ``LEAVES`` that is right most often.

    ``owners`` has the setting of each split, 0, 1, …, in order. A leaf answers what most of its
    universes are. With s the number of those inside minus that of the others, a tree is right as
    often as Σ |s| over its leaves is large; of two leaves, |s₁| + |s₂| = max(|s₁ + s₂|, |s₁ − s₂|).
    """
    total, each, both = sums
    one, rest = each[:, None], total - each[:, None]
    left, right = abs(2 * both - one), abs(2 * (each - both) - rest)
    np.maximum(left, abs(one), out=left)
    np.maximum(right, abs(rest), out=right)
    root = int((abs(one) + abs(rest)).argmax())
    one_child = np.stack([left + abs(rest), right + abs(one)])
    side, first, child = map(int, np.unravel_index(one_child.argmax(), one_child.shape))
    # Of two children, both are about one setting: settings × roots.
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    best = [np.maximum.reduceat(of, starts, axis=1).T for of in (left, right)]
    owner, parent = map(int, np.unravel_index((best[0] + best[1]).argmax(), best[0].shape))
    splits = np.flatnonzero(owners == owners[starts[owner]])
    two = [int(splits[of[parent, splits].argmax()]) for of in (left, right)]
    return [
        _answered(sums, root, (-1, -1)),
        _answered(sums, first, (child, -1) if side == 0 else (-1, child)),
        _answered(sums, parent, (two[0], two[1])),
    ]


def _answered(sums: Sums, root: int, children: tuple[int, int]) -> Tree:
    """The tree with what most universes of each leaf are."""
    leaves, (total, one, both) = [], sums
    sides = one[root], total - one[root]
    inner = both[root, children[0]], (one - both[root])[children[1]]
    for child, most, some in zip(children, sides, inner, strict=True):
        first = most if child < 0 else some
        leaves.append((bool(first > 0), bool((most if child < 0 else most - some) > 0)))
    return Tree(root, children, (leaves[0], leaves[1]))


# How settings and numbers are printed.


def spoken(setting: str) -> str:
    """A setting's name as it is printed: ``gamma`` is γ, ``batch_size`` batch size."""
    if setting == "gamma_gap":
        return "γ(1 − λ₂)"
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {setting.upper()}")
    except KeyError:
        return setting.replace("_", " ")


#: The digits of an exponent.
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int | None = None, *, plus: bool = False) -> str:
    """A number with a true minus sign; a dash for NaN.

    It has so many ``digits`` after the point, by default three significant digits.
    """
    if math.isnan(value):
        return ABSENT
    form = "0f" if 1000 <= abs(value) < 1e6 else "3g"
    if digits is not None:
        value, form = round(value, digits) + 0.0, f"{max(digits, 0)}f"  # −0.00 is 0.00
    mantissa, e, exponent = f"{value:{'+' * plus}.{form}}".partition("e")
    text = f"{mantissa} · 10{str(int(exponent)).translate(RAISED)}" if e else mantissa
    return text.replace("inf", "∞").replace("-", "−")


def digits_of(value: float, low: float, high: float) -> int | None:
    """The digits after the point of a value and its interval, by which two of the half-width show.

    An interval with one end has the distance to it for its half-width. None without an interval,
    and for a very narrow or wide one.
    """
    ends = [end for end in (low, high) if math.isfinite(end)]
    half = (high - low) / 2 if len(ends) == 2 else abs(value - ends[0]) if ends else math.nan
    return 1 - math.floor(math.log10(half)) if 1e-5 <= half < 1e6 else None


def alike(value: float, low: float, high: float) -> tuple[str, str, str]:
    """A value and the ends of its interval, with the same digits (see ``digits_of``)."""
    digits = digits_of(value, low, high)
    return number(value, digits), number(low, digits), number(high, digits)
