"""Trees on at most two settings are the best of all."""

from itertools import product

import numpy as np

from verdicts.statistics.rules import LEAVES, fitted, sums_of

STREAM = np.random.default_rng(5)
INSIDE = STREAM.random(40) < 0.5
ANSWERS = STREAM.random((40, 6)) < 0.5
OWNERS = np.array([0, 0, 0, 1, 1, 1])
WHOLE = np.ones((1, 40), dtype=bool)


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


def test_a_subset_is_fitted_alone():
    chosen = WHOLE.copy()
    chosen[0, 20:] = False
    (sums,) = sums_of(INSIDE, ANSWERS, chosen)
    (part,) = sums_of(INSIDE[:20], ANSWERS[:20], WHOLE[:, :20])
    assert fitted(sums, OWNERS) == fitted(part, OWNERS)
