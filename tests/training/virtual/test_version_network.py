import pytest
import torch
from stepping import fields

from ngo.common.registry import UserError
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.gossip_step import phi
from ngo.gossip.mixing_matrix import MixingMatrix, mixing_matrix
from ngo.gossip.topologies.static import ring
from ngo.native.pool import in_order
from ngo.training.virtual.asynchronous_stepper import Exchange, VersionNetwork


def exchange(*, kept=(), used=(), own=(), W=None, pairs=()):
    """``kept``: (slot, row); ``used``: (row, slot, weight); ``pairs``: (row, partner)."""

    def column(rows, k):
        return torch.tensor([row[k] for row in rows], dtype=torch.long)

    weights = torch.tensor([row[2] for row in used], dtype=torch.float64)
    return Exchange(
        column(kept, 0), column(kept, 1), column(used, 0), column(used, 1), weights,
        torch.tensor(own), W, column(pairs, 0), column(pairs, 1),
    )  # fmt: skip


@pytest.fixture
def X():
    return torch.randn(4, 5, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def network(X):
    return VersionNetwork(X, in_order)


def pull(network, X, p=0.8):
    network.pull(X, COUPLINGS["power"], 0.5, fields(p=p))


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_rows_are_pulled_by_models_of_other_times(network, X, p):
    old = X.clone()
    network.begin(exchange(kept=[(2, 0), (0, 1), (1, 3)], own=[0.0] * 4), 3)
    pull(network, X.clone(), p)
    rows = torch.zeros(2, 5)
    used = [(0, 2, 0.3), (0, 1, 0.2), (1, 1, 0.2)]
    network.begin(exchange(kept=[(0, 1)], used=used, own=[0.0] * 2), 3)
    pull(network, rows, p)
    expected = [0.3 * phi(old[0], p) + 0.2 * phi(old[3], p), 0.2 * phi(old[3], p)]
    assert torch.allclose(rows, 0.5 * torch.stack(expected), atol=1e-6)
    assert torch.equal(network.slots[0], torch.zeros(5))
    assert torch.equal(network.slots[2], old[0])


@pytest.mark.parametrize("p", [0.8, 1.0])
def test_all_workers_together_take_the_step_of_a_run_without_time(network, X, p):
    W = MixingMatrix.of(mixing_matrix(ring(4)))
    expected = COUPLINGS["power"].step(X, W, 0.5, fields(p=p))
    network.begin(exchange(W=W, own=[0.0] * 4), 0)
    pull(network, X, p)
    assert torch.equal(X, expected)


def test_sums_have_the_own_share_and_each_message(network, X):
    network.begin(exchange(kept=[(0, 1), (1, 2)], own=[0.5] * 4), 2)
    network.mix(X.clone())
    rows = torch.ones(2, 5)
    network.begin(exchange(used=[(1, 0, 0.5), (1, 1, 0.25)], own=[0.5, 0.25]), 2)
    network.mix(rows)
    assert torch.allclose(rows[0], torch.full((5,), 0.5))
    assert torch.allclose(rows[1], 0.25 + 0.5 * X[1] + 0.25 * X[2])


def test_pairs_become_their_means(network, X):
    before = X.clone()
    rows = X[[0, 1]]
    network.begin(exchange(pairs=[(1, 3)]), 0)
    network.average(rows)
    assert torch.equal(rows[0], before[0])
    assert torch.equal(rows[1], (before[1] + before[3]) / 2)
    assert torch.equal(X[3], rows[1])
    assert torch.equal(X[:3], before[:3])


def test_a_method_that_exchanges_otherwise_is_refused(network, X):
    with pytest.raises(UserError, match="clock: 'asynchronous' is not possible with a method"):
        pull(network, X)
    network.begin(exchange(own=[0.0] * 4), 0)
    pull(network, X)
    with pytest.raises(UserError, match="other than once"):
        pull(network, X)
    network.begin(exchange(kept=[(0, 0)], own=[0.0] * 4), 1)
    with pytest.raises(UserError, match="other than once"):
        network.end()
    for operation in (network.mean, network.index, network.send, network.swap):
        with pytest.raises(UserError, match="other than once"):
            operation(X)
