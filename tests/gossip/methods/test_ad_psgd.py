import pytest
import torch
from runs import CONVEX, digits_run, trained
from stepping import Stepping, ring_matrix, states

from ngo.common.registry import UserError
from ngo.data import loading


class Pair:
    """A network in which row 0 meets worker 2."""

    def __init__(self, X):
        self.X = X

    def set_matrix(self, W):
        pass

    messages = 0

    def average(self, rows):
        mean = (rows[0] + self.X[2]) / 2
        rows[0], self.X[2] = mean, mean


def test_a_worker_averages_with_its_partner_and_then_descends():
    X, G = states()
    stepping = Stepping("ad_psgd", X, network=Pair(X.clone()))
    stepping.advance(G)
    mean = (X[0] + X[2]) / 2
    assert torch.allclose(stepping.network.X[2], mean)
    assert torch.allclose(stepping.X[0], mean - 0.1 * G[0])


def test_workers_that_step_together_have_no_pairs():
    X, _ = states()
    with pytest.raises(UserError, match="workers meet in pairs with clock 'asynchronous' only"):
        Stepping("ad_psgd", X, ring_matrix()).advance()


def test_it_learns_where_a_worker_is_slow(tmp_path):
    fields = {"method": "ad_psgd", "clock": "asynchronous", "slow_workers": 1, "slow_factor": 5.0}
    spec = digits_run(**CONVEX, **fields, epochs=2, eval_every=2, lr=0.05)
    rows, _ = trained(spec, loading.load(spec.dataset, tmp_path))
    assert rows[-1].consensus_loss < 0.1 * rows[0].consensus_loss
    assert rows[-1].V < 1
