"""Gradients of some of the workers: those that they have in a step of all."""

import pytest
import torch

from ngo.engine.backend import Stacked
from ngo.engine.population import Population

CHOSEN = [1, 4, 6]


@pytest.mark.parametrize("model", ["mnist_cnn", "mnist_fc"])
@pytest.mark.parametrize("backend", ["loop", "threads", "vmap", "compiled", "auto"])
def test_the_chosen_workers_have_their_gradients_and_streams(backend, model):
    stream = torch.Generator().manual_seed(0)
    inputs = torch.rand(8, 4, 1, 28, 28, generator=stream)
    targets = torch.randint(10, (8, 4), generator=stream)
    every, some = (Population(model, 8, 0, backend=backend, threads=2) for _ in range(2))
    losses = every.gradients(Stacked(inputs, targets))
    some.G.fill_(7.0)
    found = some.gradients(Stacked(inputs[CHOSEN], targets[CHOSEN], CHOSEN))
    assert torch.allclose(found, losses[CHOSEN], atol=1e-5)
    assert torch.allclose(some.G[CHOSEN], every.G[CHOSEN], atol=1e-5)
    others = [i for i in range(8) if i not in CHOSEN]
    assert (some.G[others] == 7).all()
    before = Population(model, 8, 0, backend=backend).generators
    for i, (one, two, unused) in enumerate(
        zip(some.generators, every.generators, before, strict=True)
    ):
        same = two if i in CHOSEN else unused
        assert torch.equal(one.get_state(), same.get_state())
