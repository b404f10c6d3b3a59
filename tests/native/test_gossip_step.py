import ctypes
import math

import pytest
import torch

from ngo.native import build
from ngo.native.gossip_step import gossip

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


def pulls(z, e):
    """The pulls from workers at ``z`` on a worker at 0."""
    X = torch.stack([torch.zeros_like(z), z])
    new = torch.empty_like(X)
    W = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    gossip(X, torch.zeros_like(X), new, W, 1.0, e, ctypes.c_int64())
    assert torch.equal(new[0], -new[1]) or not new.isfinite().all()
    return new[0]


@pytest.mark.parametrize("p", [0.25, 0.5, 0.501, 0.51, 0.6, 0.75, 0.9, 1.2, 1.5, 2])
def test_powers_are_accurate_to_a_few_units_in_the_last_place(p):
    """From the smallest float32 to the largest, against float64."""
    e = 2 * p - 1
    sizes = 2.0 ** torch.linspace(-149, 127.99, 100_001, dtype=torch.float64)
    z = torch.cat([sizes, -sizes]).float()
    expected = z.double().abs() ** e * z.sign()
    found = pulls(z, e).double()
    normal = (expected.abs() > 2.0**-126) & (expected.abs() < 2.0**127.99)
    assert normal.sum() > 50_000
    assert (found / expected - 1)[normal].abs().max() < 3e-7
    subnormal = expected.abs() <= 2.0**-126  # with fewer digits
    assert torch.allclose(found[subnormal], expected[subnormal], rtol=0, atol=2.0**-148)


def test_powers_of_special_numbers():
    z = torch.tensor([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan])
    for e in (-0.5, 0.0, 0.01, 0.8, 2.0):
        found = pulls(z, e)
        assert found[:4].tolist() == [0, 0, 1, -1]
        limit = {-0.5: 0, 0.0: 1}.get(e, math.inf)
        assert found[4:6].tolist() == [limit, -limit]
        assert found[6].isnan()
    assert pulls(torch.tensor([3.0, -0.2, 1e-30, -1e-42]), 0.0).tolist() == [1, -1, 1, -1]
    assert pulls(torch.tensor([1e-20, 1e20]), 3.0).tolist() == [0, math.inf]


def test_tensors_that_do_not_fit_are_refused():
    X, W = torch.zeros(3, 50), torch.zeros(3, 3, dtype=torch.float64)
    for states in (
        (X[:2], X, X, W),
        (X, X, X[:, :40].contiguous(), W),
        (X.double(), X, X, W),
        (X, X, X, W.float()),
        (X, X, X, W[:2]),
    ):
        with pytest.raises(ValueError, match="must be a contiguous"):
            gossip(*states, 0.1, 0.8, ctypes.c_int64())


def test_columns_that_are_claimed_already_are_left_alone():
    X, W = torch.ones(2, 10_000), torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    seen, new = X.clone(), torch.zeros_like(X)
    seen[1] = 2
    claimed = ctypes.c_int64(4096)
    gossip(seen, X, new, W, 0.5, 0.8, claimed)
    assert claimed.value >= 10_000
    assert (new[:, :4096] == 0).all()
    assert (new[0, 4096:] == 1.5).all()
    assert (new[1, 4096:] == 0.5).all()
