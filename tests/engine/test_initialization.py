import pytest
import torch

from ngo.engine.backend import INITIALIZATIONS
from ngo.engine.population import Population


def rows(**how):
    return Population("mnist_cnn", how.pop("n", 4), 0, backend="loop", **how).X


def test_all_workers_start_alike_or_each_from_its_own_draw():
    assert list(INITIALIZATIONS) == ["same", "by_worker"]
    same, own = rows(), rows(initialization="by_worker")
    assert (same == same[0]).all()
    everyone = torch.cat([same[:1], own])
    assert (torch.pdist(everyone) > 1).all()
    assert torch.equal(own, rows(initialization="by_worker"))
    assert 0.9 < float(own.std() / same[0].std()) < 1.1


def test_a_workers_draw_depends_on_its_number_alone():
    """Not on how many workers there are, nor on which of them are in this process."""
    every = rows(n=6, initialization="by_worker")
    assert torch.equal(rows(n=2, workers=[1, 4], initialization="by_worker"), every[[1, 4]])


@pytest.mark.parametrize("backend", ["loop", "vmap", "compiled"])
def test_modules_start_from_their_rows(backend):
    population = Population("mnist_cnn", 3, 0, backend=backend, initialization="by_worker")
    X = population.X.clone()
    for i, module in enumerate(population.modules):
        first = next(module.parameters())
        row = X[i, : first.numel()].view(first.permute(0, 2, 3, 1).shape).permute(0, 3, 1, 2)
        assert torch.equal(first.detach(), row)
    assert torch.equal(population.X, X)
