import pytest
import torch
from weighted import random_weights

from ngo.gossip.mixing_matrix import MixingMatrix, metropolis_hastings, outgoing_shares

# Worker 0 sends to 1 and 2, worker 1 to 2, and worker 3 is alone.
STAIRS = outgoing_shares(4, [(1, 2), (0, 2), (0, 1)])


def test_directed_edges_are_counted_and_in_order():
    assert (STAIRS.n, STAIRS.edges) == (4, 3)
    assert STAIRS.receivers.tolist() == [1, 2, 2]
    assert STAIRS.senders.tolist() == [0, 0, 1]
    assert STAIRS.starts.tolist() == [0, 0, 1, 3, 3]
    assert MixingMatrix.identity(4).edges == 0
    assert metropolis_hastings(4, [(0, 1)]).edges == 2


@pytest.mark.parametrize("n", [2, 7])
def test_a_dense_matrix_is_the_same_again(n):
    W = random_weights(n, 0.5, 0)
    assert torch.equal(MixingMatrix.of(W).dense(), W)
    edges = MixingMatrix.of(W)
    assert MixingMatrix.of(edges) is edges
    assert torch.allclose(edges.received, W.sum(1) - W.diagonal())
    assert torch.equal(MixingMatrix.of(torch.eye(n)).dense(), MixingMatrix.identity(n).dense())


def test_its_transpose_and_a_part():
    W = STAIRS.dense()
    assert torch.equal(STAIRS.transposed.dense(), W.T)
    workers = [2, 0, 1]
    part = STAIRS.part(workers, 1)
    expected = W[workers][:, workers]
    expected[2, 1] = 0  # between two workers after the first
    assert torch.equal(part.dense(), expected)


def test_the_weights_of_lost_edges_go_to_their_senders():
    found = STAIRS.without(torch.tensor([False, True, False])).dense()
    assert torch.equal(found.sum(0), torch.ones(4).double())
    assert found[2, 0] == 0
    assert found[0, 0] == pytest.approx(2 / 3)


def test_each_edge_of_a_symmetric_matrix_is_one_pair():
    W = random_weights(9, 0.4, 1)
    edges = MixingMatrix.of(W)
    i, j, weights = edges.pairs
    assert torch.equal(torch.stack([i, j], 1), W.triu(1).nonzero())
    assert torch.equal(weights, W[i, j])
    both = torch.cat([torch.stack([i, j]), torch.stack([j, i])], 1)
    ends = edges.on(W.device, W.dtype).ends
    assert torch.equal(both[:, ends], torch.stack([edges.receivers, edges.senders]))
