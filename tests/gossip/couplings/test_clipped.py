import pytest
import torch
from stepping import Stepping, ring_matrix, states


def stepped(X, coupling="clipped", **values):
    stepping = Stepping("ngo", X, ring_matrix(), coupling=coupling, **values)
    stepping.advance()
    return stepping.X


def test_small_differences_count_in_full():
    X, _ = states()
    assert torch.allclose(stepped(X, clip=1e3), stepped(X, "power", p=1.0))


def test_each_entry_of_a_difference_is_limited_alone():
    """Worker 0 is far off in column 0 only: the other columns do not change with it."""
    X, _ = states()
    far = X.clone()
    far[0, 0] += 1e6
    near, clipped = stepped(X, clip=0.5), stepped(far, clip=0.5)
    assert torch.equal(clipped[:, 1:], near[:, 1:])
    pull = float((clipped - far)[0, 0])
    assert pull == pytest.approx(-0.2 * 2 / 3 * 0.5, abs=1e-8)
    assert torch.allclose(clipped.mean(0), far.mean(0))
