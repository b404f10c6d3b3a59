import pytest
import torch
from conftest import batch

from ngo.common.devices import float32_parts
from ngo.common.registry import UserError
from ngo.engine.backend import Stacked
from ngo.engine.population import Population


def test_cuda_graphs_need_a_gpu():
    with pytest.raises(UserError, match="backend: 'graphs' needs a GPU"):
        Population("linear", 2, seed=0, backend="graphs")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("backend", ["graphs", "vmap", "auto"])
def test_backends_of_a_gpu_equal_its_loop(monkeypatch, backend):
    for part in float32_parts():  # as in a run; else convolutions would be TF32
        monkeypatch.setattr(part, "fp32_precision", "ieee")

    def on_gpu(backend):
        population = Population("mnist_cnn", 4, seed=0, device="cuda", backend=backend)
        given = batch("mnist_cnn", 4)
        given = Stacked(given.inputs.cuda(), given.targets.cuda())
        return [population.gradients(given) for _ in range(2)], population

    expected, reference = on_gpu("loop")
    losses, population = on_gpu(backend)
    assert torch.allclose(torch.stack(losses), torch.stack(expected), rtol=1e-4)
    assert torch.allclose(population.G, reference.G, atol=1e-5)
    assert population.backend in ("loop", "graphs", "vmap")
