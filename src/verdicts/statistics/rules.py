"""Rules on at most two settings that tell some universes from the others.

A rule is a tree with two, three or four leaves: a split on one setting, whose sides may be split
once more, on one setting too. Among all such trees, the one that is right in most universes is
found by counting. It is a rule only if it does better than always saying the more frequent answer,
in universes that it was not fitted to (cross-validation).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from verdicts.lazy import pd, special
from verdicts.registry import UserError, shown
from verdicts.statistics.estimates import ALPHA

FOLDS = 5

#: The sizes of trees. A tree has a root; one of its sides, or both, may be split once more.
LEAVES = (2, 3, 4)

#: The most places where a numeric setting is cut: after every twentieth of the universes.
CUTS = 19

#: The most values that a setting without numbers may have.
CATEGORIES = 12

#: A rule makes at most so many of the mistakes of the more frequent answer.
GAIN = 0.5


@dataclass(frozen=True)
class Rule:
    """The best rule, whether or not it is good enough."""

    #: ``γ ≤ 0.3 and p > 0.9``; empty if no rule does better than the more frequent answer.
    text: str
    #: The settings that it names.
    settings: tuple[str, ...]
    #: The share of universes in which it is right, cross-validated.
    accuracy: float
    #: Of the null hypothesis that settings tell nothing: an exact sign test, for all sizes.
    p: float


NONE = Rule("", (), math.nan, 1.0)


@dataclass(frozen=True)
class Split:
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
    fold = _folds(inside)
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
    named = tuple(str(name) for name in settings if any(name in box for box in boxes))
    p = min(1.0, len(LEAVES) * _sign_test(right, frequent))
    return Rule(_text(boxes), named, accuracy, p)


def _questions(settings: pd.DataFrame) -> tuple[list[Split], np.ndarray]:
    """The splits, and whether each is true: universes × splits.

    At least a twentieth of the universes is on either side.
    """
    splits, columns = [], []
    for name, values in settings.items():
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            numbers = values.to_numpy(dtype=float)
            options = [(Split(str(name), t), numbers <= t) for t in _cuts(numbers)]
        else:
            every = sorted(values.unique())
            # Of two categories, one question is enough.
            other = str(every.pop()) if len(every) == 2 else ""
            options = [
                (Split(str(name), str(v), other), (values == v).to_numpy())
                for v in every[:CATEGORIES]
            ]
        for split, true in options:
            if min(true.sum(), (~true).sum()) >= len(true) / (CUTS + 1):
                splits.append(split)
                columns.append(true)
    return splits, np.array(columns, dtype=bool).T


def _cuts(values: np.ndarray) -> list[float]:
    """Where a numeric setting is cut: readable numbers between neighbouring sampled values."""
    ordered = np.sort(values)
    distinct = np.unique(ordered)
    if len(distinct) <= CATEGORIES:  # a grid: its own values
        return [float(value) for value in distinct[:-1]]
    count = len(ordered)
    near = count // 50  # a cut may be so many universes off, for the sake of a readable number
    places = np.arange(1, CUTS + 1) * count // (CUTS + 1)
    pairs = {
        (float(ordered[max(0, k - 1 - near)]), float(ordered[min(count - 1, k + near)]))
        for k in map(int, places)
        if k
    }
    return sorted({readable(*pair) for pair in pairs if pair[0] < pair[1]})


def readable(low: float, high: float) -> float:
    """The number with the fewest digits that is at least ``low`` and below ``high``."""
    if low <= 0 < high:
        return 0.0
    exponent = math.floor(math.log10(max(abs(low), abs(high))))
    for digits in range(16):
        step = exponent - digits
        value = float(f"{math.ceil(low / 10.0**step)}e{step}")
        if low <= value < high:
            return value
    return float(low)


def _folds(inside: np.ndarray) -> np.ndarray:
    """The fold of each universe, drawn at random; folds have the same share of those inside."""
    order = np.lexsort([np.random.default_rng(0).random(len(inside)), inside])
    fold = np.empty(len(inside), dtype=int)
    fold[order] = np.arange(len(inside)) % FOLDS
    return fold


def _sign_test(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The exact one-sided p value of being right more often than the other is."""
    wins, losses = (ours & ~theirs).sum(), (theirs & ~ours).sum()
    return float(special.bdtrc(wins - 1, wins + losses, 0.5)) if wins else 1.0


#: The conditions on each setting that a universe must meet.
Box = Mapping[str, Sequence[Condition]]


def _boxes(tree: Tree, splits: Sequence[Split]) -> list[Box]:
    """Where the tree says yes: the boxes of its leaves, put together where they can be."""
    root = splits[tree.root]
    paths: list[list[Condition]] = []
    whole = [all(leaves) for leaves in tree.leaves]
    for side, (child, leaves) in enumerate(zip(tree.children, tree.leaves, strict=True)):
        if whole[side]:
            paths.append([(root, side == 0)])
        elif any(leaves):
            inner = (splits[child], leaves[0])
            # "γ ≤ 0.1, or γ > 0.1 and p > 0.9" is "γ ≤ 0.1, or p > 0.9".
            paths.append([inner] if whole[1 - side] else [(root, side == 0), inner])
    boxes: list[Box] = []
    for path in paths:
        box: dict[str, list[Condition]] = {}
        for split, true in path:
            box.setdefault(split.setting, []).append((split, true))
        boxes.append(box)
    return boxes


def _text(boxes: Sequence[Box]) -> str:
    parts = [" and ".join(_interval(conditions) for conditions in box.values()) for box in boxes]
    return ", or ".join(parts)


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


def cut_at(values: pd.Series, rule: str) -> pd.Series:
    """The part of each value in words: cut where a ``rule`` cuts, else numbers at their median."""
    name = spoken(str(values.name))
    texts = rule.replace(", or ", " and ").split(" and ") if rule else []
    found = [match for text in texts if (match := CONDITION.fullmatch(text)) and match[2] == name]
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return name + " is " + values.astype(str)
    cuts = sorted({_value(cut) for match in found for cut in (match[1], match[4]) if cut})
    cuts = cuts or [float(f"{values.median():.2g}")]
    edges = [-math.inf, *cuts, math.inf]
    words = [
        f"{name} ≤ {_number(high)}" if low == -math.inf
        else f"{name} > {_number(low)}" if high == math.inf
        else f"{_number(low)} < {name} ≤ {_number(high)}"
        for low, high in pairwise(edges)
    ]  # fmt: skip
    return pd.Series(np.array(words)[np.searchsorted(cuts, values)], values.index)


#: A condition of a rule as text: ``0.1 < γ ≤ 0.3``, ``schedule is not cosine``.
CONDITION = re.compile(r"(?:(\S+) < )?(.+?) (≤|>|is not|is) (\S+)")


def meets(rule: str, settings: pd.DataFrame) -> pd.Series:
    """Whether each universe meets a rule, by the text of ``Rule``; none meets an empty one."""
    named = {spoken(str(name)): values for name, values in settings.items()}
    met = pd.Series(False, index=settings.index)
    for box in rule.split(", or ") if rule else []:
        inside = pd.Series(True, index=settings.index)
        for condition in box.split(" and "):
            if not (match := CONDITION.fullmatch(condition)):
                raise UserError(f"the condition {shown(condition)} of a rule cannot be read")
            low, name, sign, value = match.groups()
            values = named[name]
            if sign in ("is", "is not"):
                inside &= (values == value) == (sign == "is")
                continue
            inside &= (values <= _value(value)) == (sign == "≤")
            if low:
                inside &= values > _value(low)
        met |= inside
    return met


def _value(text: str) -> float:
    return float(text.replace("−", "-"))


def spoken(setting: str) -> str:
    """A setting's name as it is printed: ``gamma`` is γ, ``batch_size`` batch size."""
    if setting == "gamma_gap":
        return "γ(1 − λ₂)"
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {setting.upper()}")
    except KeyError:
        return setting.replace("_", " ")


@dataclass(frozen=True)
class Sums:
    """Universes inside minus others: of all, by split, and by pair of splits that are true."""

    total: float
    one: np.ndarray
    both: np.ndarray


def sums_of(inside: np.ndarray, answers: np.ndarray, chosen: np.ndarray) -> list[Sums]:
    """For each row of ``chosen``, a subset of universes."""
    signs = (np.where(inside, 1, -1) * chosen).astype(np.float32)  # exact: they are counts
    true = answers.astype(np.float32)
    return [Sums(sign.sum(), sign @ true, (true.T * sign) @ true) for sign in signs]


@dataclass(frozen=True)
class Tree:
    """A split and, on each of its sides, a split that may be none; the answer of each leaf."""

    root: int
    #: The split of the side where the root is true, and of the other; −1: none.
    children: tuple[int, int]
    #: By the answer to the root, and to the child: true, then false.
    leaves: tuple[tuple[bool, bool], tuple[bool, bool]]

    def say(self, answers: np.ndarray) -> np.ndarray:
        """Whether each universe is inside, by its answers to the splits."""
        true, false = (
            np.where(answers[:, child], *leaves) if child >= 0 else leaves[0]
            for child, leaves in zip(self.children, self.leaves, strict=True)
        )
        return np.where(answers[:, self.root], true, false)


def fitted(sums: Sums, owners: np.ndarray) -> list[Tree]:
    """The tree of each of the sizes ``LEAVES`` that is right most often.

    ``owners`` has the setting of each split. A leaf answers what most of its universes are. With s
    the number of those inside minus that of the others, a tree is right as often as Σ |s| over its
    leaves is large; of two leaves, |s₁| + |s₂| = max(|s₁ + s₂|, |s₁ − s₂|).
    """
    one, both, rest = sums.one[:, None], sums.both, sums.total - sums.one[:, None]
    left, right = abs(2 * both - one), abs(2 * (sums.one - both) - rest)
    np.maximum(left, abs(one), out=left)
    np.maximum(right, abs(rest), out=right)
    root = int((abs(one) + abs(rest)).argmax())
    one_child = np.stack([left + abs(rest), right + abs(one)])
    side, first, child = map(int, np.unravel_index(one_child.argmax(), one_child.shape))
    return [
        _answered(sums, root, (-1, -1)),
        _answered(sums, first, (child, -1) if side == 0 else (-1, child)),
        _answered(sums, *_two_children(left, right, owners)),
    ]


def _two_children(
    left: np.ndarray, right: np.ndarray, owners: np.ndarray
) -> tuple[int, tuple[int, int]]:
    """The best root and its children, both about one setting; the scores are roots × children."""
    best, chosen = -1.0, (0, (-1, -1))
    for owner in np.unique(owners):
        splits = np.flatnonzero(owners == owner)
        scores = left[:, splits].max(axis=1) + right[:, splits].max(axis=1)
        root = int(scores.argmax())
        if scores[root] > best:
            best = scores[root]
            pair = splits[left[root, splits].argmax()], splits[right[root, splits].argmax()]
            chosen = root, (int(pair[0]), int(pair[1]))
    return chosen


def _answered(sums: Sums, root: int, children: tuple[int, int]) -> Tree:
    """The tree with what most universes of each leaf are."""
    leaves = []
    for true, child in zip((True, False), children, strict=True):
        side = sums.one[root] if true else sums.total - sums.one[root]
        if child < 0:
            leaves.append((bool(side > 0), bool(side > 0)))
        else:
            inner = sums.both[root, child] if true else sums.one[child] - sums.both[root, child]
            leaves.append((bool(inner > 0), bool(side > inner)))
    return Tree(root, children, (leaves[0], leaves[1]))
