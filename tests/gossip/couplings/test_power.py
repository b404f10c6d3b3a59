from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from weighted import random_weights

from ngo.common.seeding import torch_stream
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.gossip_step import gossip_step


@pytest.mark.parametrize("p", [0.5, 0.8, 1])
def test_the_fast_step_is_that_of_the_pull(p):
    X, Y = torch.randn(2, 6, 50, generator=torch_stream(0, "X"))
    W, run = random_weights(6, 0.5, 1), SimpleNamespace(p=p)
    power = COUPLINGS["power"]
    plain = replace(power, fast=None)
    for at in (None, Y):
        fast = power.step(X, W, 0.3, run, at=at)
        assert torch.equal(fast, gossip_step(X, W, 0.3, p, at=at))
        assert torch.allclose(fast, plain.step(X, W, 0.3, run, at=at), atol=1e-5)


def test_it_reads_p():
    assert COUPLINGS["power"].fields == ("p",)
