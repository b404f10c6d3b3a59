import pytest
import torch

from ngo import graphs
from ngo.consensus import simulate, synchronization_index
from ngo.seeding import torch_stream


def gaussian(n, d=1, seed=0):
    return torch.randn(n, d, generator=torch_stream(seed, "X"), dtype=torch.float64)


def test_index_of_known_states():
    assert synchronization_index(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])).item() == 2
    assert synchronization_index(torch.full((5, 3), 0.1)).item() == 0  # exact, not rounded
    stack = torch.stack([torch.zeros(2, 1), torch.tensor([[3.0], [1.0]])])
    assert synchronization_index(stack).tolist() == [0, 2]


def test_linear_consensus_contracts_by_the_second_eigenvalue():
    """From the second eigenvector, V shrinks by (1 − γλ₂(L))² each round, exactly."""
    W = graphs.mixing_matrix(graphs.ring(10))
    eigenvalues, vectors = torch.linalg.eigh(graphs.laplacian(W))
    run = simulate(vectors[:, 1:2], W, p=1, gamma=0.5, rounds=50)
    rates = (1 - 0.5 * eigenvalues[1]) ** (2 * torch.arange(51))
    assert torch.allclose(run.V, run.V[0] * rates, rtol=1e-10)


@pytest.mark.parametrize("p", [0.5, 0.9, 1, 2])
def test_trajectory_has_every_state_and_conserves_the_mean(p):
    X0 = gaussian(10, 3)
    run = simulate(X0, graphs.mixing_matrix(graphs.ring(10)), p, gamma=0.02, rounds=40)
    assert run.states.shape == (41, 10, 3)
    assert torch.equal(run.states[0], X0)
    assert torch.allclose(run.states.mean(1), X0.mean(0).expand(41, 3), atol=1e-13)
    assert torch.equal(run.V, synchronization_index(run.states))


def test_sublinear_coupling_synchronizes_first_and_superlinear_last():
    W = graphs.mixing_matrix(graphs.ring(10))
    runs = {p: simulate(gaussian(10), W, p, 0.02, 500).V for p in (0.5, 1, 2)}
    rounds = {
        p: int((0.1 * V[0] >= V).nonzero()[0]) for p, V in runs.items() if (0.1 * V[0] >= V).any()
    }
    assert rounds[0.5] < rounds[1]
    assert rounds[1] < rounds.get(2, 500)


def test_a_graph_stream_that_ends_early_is_an_error():
    W = graphs.mixing_matrix(graphs.ring(3))
    with pytest.raises(ValueError, match="ended after 2 of 3"):
        simulate(gaussian(3), [W, W], p=1, gamma=0.1, rounds=3)
