import pytest
import torch

from ngo.gossip.steps.column_blocks import COLUMNS, in_blocks
from ngo.native.pool import in_order, threads


@pytest.mark.parametrize("d", [1, COLUMNS, COLUMNS + 1, 5 * COLUMNS - 1])
@pytest.mark.parametrize("spread", [in_order, threads(3)])
def test_blocks_cover_each_column_once(d, spread):
    X = torch.zeros(2, d)
    widths = []

    def step(part):
        X[:, part] += 1
        widths.append(part.stop - part.start)

    in_blocks(X, 2 * COLUMNS, step, spread)
    assert (X == 1).all()
    assert len(widths) == -(-d // COLUMNS)
    assert max(widths) <= COLUMNS


def test_blocks_have_a_least_width():
    widths = []
    in_blocks(torch.zeros(64, 2 * COLUMNS), 64, lambda part: widths.append(part), in_order)
    assert [part.stop - part.start for part in widths] == [COLUMNS, COLUMNS]
