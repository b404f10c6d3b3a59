import torch

from ngo.gossip.topology import TOPOLOGIES

ONE_PEER = TOPOLOGIES["one_peer_exponential"]


def test_worker_i_receives_from_the_one_2_to_the_t_places_before_it():
    for t, sender in enumerate([4, 3, 1, 4]):
        W = ONE_PEER.matrix(8, t=t).dense()
        assert W[5].nonzero().flatten().tolist() == sorted([5, sender])
        assert (W[W != 0] == 0.5).all()
        assert (5, (5 + 2 ** (t % 3)) % 8) in ONE_PEER.edges(8, t=t)


def test_the_period_may_begin_anywhere():
    """The matrices commute: any log₂ n successive ones have the mean as their product."""
    W = [ONE_PEER.matrix(8, t=t).dense() for t in (2, 3, 4)]
    assert torch.equal(W[2] @ W[1] @ W[0], torch.full((8, 8), 1 / 8, dtype=torch.float64))


def test_other_numbers_of_workers_come_close_only():
    W = torch.eye(6, dtype=torch.float64)
    for t in range(3):
        W = ONE_PEER.matrix(6, t=t).dense() @ W
    assert 0.05 < (W - 1 / 6).abs().max() < 0.1
