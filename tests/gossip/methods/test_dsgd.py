import pytest
import torch
from stepping import N, Stepping, ring_matrix, states

from ngo.common.registry import UserError
from ngo.training.resolve import resolve


def test_a_step_takes_the_weighted_mean_of_the_neighbours_half_steps():
    X, G = states()
    stepping = Stepping("dsgd", X, ring_matrix(), gamma=1.0, p=1.0)
    assert stepping.advance(G) == 2 * N
    half = X.sub(G, alpha=0.1)
    assert torch.allclose(stepping.X, ring_matrix() @ half, rtol=0, atol=1e-12)


def test_gamma_is_1_on_any_topology_and_no_other():
    for topology in ("ring", "complete", "random_matching", "one_peer_hypercube"):
        spec = resolve({"method": "dsgd", "topology": topology, "workers": 8})
        assert (spec.gamma, spec.gamma_decay, spec.p, spec.coupling) == (1, 0, 1, "power")
    with pytest.raises(UserError, match=r"gamma: 0.5 has no effect with method 'dsgd' \(it is 1"):
        resolve({"method": "dsgd", "gamma": 0.5})
