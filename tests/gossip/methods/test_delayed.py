import pytest
import torch
from stepping import N, Stepping, ring_matrix, states

from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.network import Network


def test_delay_0_is_ngo():
    X, G = states()
    undelayed, stale = (Stepping(name, X, ring_matrix()) for name in ("ngo", "delayed"))
    for _ in range(4):
        assert stale.advance(G) == undelayed.advance(G)
    assert torch.equal(undelayed.X, stale.X)
    assert stale.matrices == {}


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_a_delayed_pull_is_that_of_the_state_some_steps_ago(delay):
    """With no gradients, and all workers in agreement before the start."""
    X0, _ = states()
    stepping = Stepping("delayed", X0, ring_matrix(), delay=delay)
    seen = []
    for t in range(8):
        X = stepping.X.clone()
        seen.append(X)
        pulled = t >= delay
        expected = gossip_step(X, ring_matrix(), 0.2, 0.8, at=seen[t - delay]) if pulled else X
        assert stepping.advance() == 2 * N
        assert torch.equal(stepping.X, expected)
        assert len(stepping.matrices) == min(t, delay) + 1


def test_the_half_step_models_are_compared():
    X0, G = states()
    stepping = Stepping("delayed", X0, ring_matrix(), delay=1)
    stepping.advance(G)
    first = X0.sub(G, alpha=0.1)
    stepping.advance(G)
    half = first.sub(G, alpha=0.1)
    assert torch.equal(stepping.X, gossip_step(half, ring_matrix(), 0.2, 0.8, at=first))


def test_a_model_is_kept_if_its_exchange_fails():
    """The step counts; at step t + τ its half-step models are compared all the same."""

    class Failing(Network):
        fails = False

        def send(self, rows):
            if self.fails:
                raise ConnectionError
            super().send(rows)

    X0, _ = states()
    stepping = Stepping("delayed", X0, ring_matrix(), delay=1, network=Failing())
    stepping.network.fails = True
    with pytest.raises(ConnectionError):
        stepping.advance()
    stepping.t += 1
    stepping.network.fails = False
    stepping.advance()
    assert torch.equal(stepping.X, gossip_step(X0, ring_matrix(), 0.2, 0.8, at=X0))
