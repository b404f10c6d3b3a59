from ngo.gossip.topology import TOPOLOGIES


def test_pairs_differ_in_the_digit_of_the_step():
    edges = [TOPOLOGIES["one_peer_hypercube"].edges(8, t=t) for t in range(4)]
    assert edges[0] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert edges[1] == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert edges[2] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert edges[3] == edges[0]


def test_pairs_average():
    W = TOPOLOGIES["one_peer_hypercube"].matrix(4, t=1).dense()
    assert W.tolist() == [[0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5]] * 2
