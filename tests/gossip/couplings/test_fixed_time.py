import pytest
import torch
from stepping import Stepping, fields, ring_matrix, states

from ngo.gossip.coupling import COUPLINGS

OPTIONS = {"near_factor": 2.0, "near_exponent": 0.4, "far_factor": 3.0, "far_exponent": 1.6}


def stepped(X, coupling, **values):
    stepping = Stepping("ngo", X, ring_matrix(), coupling=coupling, **values)
    stepping.advance()
    return stepping.X


def test_the_pull_is_the_sum_of_two_powers():
    """φ_p has the exponent 2p − 1."""
    X, _ = states()
    near, far = (stepped(X, "power", p=(exponent + 1) / 2) - X for exponent in (0.4, 1.6))
    assert torch.allclose(stepped(X, "fixed_time", **OPTIONS), X + 2 * near + 3 * far)


@pytest.mark.parametrize("far", [1e1, 1e3, 1e5])
def test_the_time_to_consensus_has_a_bound_for_all_initial_states(far):
    """Polyakov 2012: ż = −a|z|^α − b|z|^β is at 0 by 1/(a(1 − α)) + 1/(b(β − 1)) at the latest.

    Two workers: ż = −2 W_12 γ (…); steps that shorten with |z| follow the flow.
    """
    run, half = fields(**OPTIONS), torch.tensor([[0.5]], dtype=torch.float64)
    bound, time = 1 / (2 * 0.6) + 1 / (3 * 0.6), 0.0
    z = torch.tensor([[far]], dtype=torch.float64)
    while z > 1e-9:
        speed = 2 * COUPLINGS["fixed_time"].pull(z.clone(), half, 1.0, run)
        step = 0.01 * float(z / speed)
        z, time = z - step * speed, time + step
    assert 0.5 * bound < time < bound
