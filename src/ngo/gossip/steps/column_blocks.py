"""A step in blocks of columns: columns of a state do not depend on each other."""

from collections.abc import Callable

import torch

from ngo.native.pool import Map

# Elements of one block of the state, and the fewest columns of a block. With smaller blocks,
# threads spend their time handing over Python's lock, which each operation releases; larger ones
# would not stay in a core's cache.
BLOCK, COLUMNS = 1 << 17, 4096


def in_blocks(X: torch.Tensor, elements: int, step: Callable[[slice], None], spread: Map) -> None:
    """Call ``step`` with slices of all columns, each slice of about ``elements`` elements."""
    n, d = X.shape
    count = 1 if X.is_cuda else -(-d // max(elements // n, COLUMNS))
    width = -(-d // count)
    spread(lambda k: step(slice(k * width, min((k + 1) * width, d))), count)
