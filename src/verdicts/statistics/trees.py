"""Small trees on at most two settings, fitted by counting all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEAVES = (2, 3, 4)
"""The sizes of trees. A tree has a root; one of its sides, or both, may be split once more."""


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
        own = np.flatnonzero(owners == owner)
        scores = left[:, own].max(axis=1) + right[:, own].max(axis=1)
        root = int(scores.argmax())
        if scores[root] > best:
            best = scores[root]
            pair = own[left[root, own].argmax()], own[right[root, own].argmax()]
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
