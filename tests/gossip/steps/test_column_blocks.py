import pytest
import torch

from ngo.gossip.steps import column_blocks
from ngo.gossip.steps.column_blocks import in_blocks
from ngo.native.pool import in_order, threads

WIDTH = 100


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(column_blocks, "BLOCK", 2 * WIDTH)


@pytest.mark.parametrize("d", [1, WIDTH, WIDTH + 1, 5 * WIDTH - 1])
@pytest.mark.parametrize("spread", [in_order, threads(3)])
def test_blocks_cover_each_column_once(d, spread):
    X = torch.zeros(2, d)

    def step(part):
        X[:, part] += 1
        return part.stop - part.start

    widths = in_blocks(X, 2, step, spread)
    assert (X == 1).all()
    assert (len(widths), sum(widths)) == (-(-d // WIDTH), d)
    assert max(widths) <= WIDTH


@pytest.mark.parametrize(("rows", "blocks", "width"), [(20, 1, 10), (20, 3, 30), (999, 1, 1)])
def test_a_block_is_as_wide_as_its_largest_tensor_allows(rows, blocks, width):
    widths = in_blocks(torch.zeros(2, 60), rows, lambda part: part, in_order, blocks=blocks)
    assert {part.stop - part.start for part in widths} == {width}


def test_without_rows_there_is_one_block():
    assert in_blocks(torch.zeros(2, 60), 0, lambda part: part, in_order) == [slice(0, 60)]
