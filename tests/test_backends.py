import math
import os
import sys

import pytest
import torch
from conftest import batch
from running import finished, start

from ngo import backends, graphs
from ngo.backends import Stacked
from ngo.coupling import gossip_step
from ngo.models import MODELS
from ngo.pool import threads
from ngo.population import Population
from ngo.registry import UserError
from ngo.seeding import torch_stream


def apart(model, n, backend, **how):
    """A population of workers that differ."""
    population = Population(model, n, seed=0, backend=backend, **how)
    population.X += 0.01 * torch.randn(population.X.shape, generator=torch_stream(1, "test"))
    return population


@pytest.mark.parametrize("model", sorted(MODELS))
def test_vmap_equals_the_loop(model):
    """With the same dropout masks and codes, and the same running means of normalization.

    Each step from the same state: pooling and normalization magnify differences of rounding. A
    ReLU of ResNet that flips moves a gradient by 2e-3 of its length; what is wrong, by far more.
    """
    n, count = (2, 1) if model in ("resnet18", "cifar10_vae") else (3, 2)
    reference, population = apart(model, n, "loop"), apart(model, n, "vmap")
    for step in range(count):
        population.X.copy_(reference.X)
        expected, losses = (
            each.gradients(batch(model, n, seed=step)) for each in (reference, population)
        )
        assert torch.allclose(losses, expected, rtol=1e-4)
        error = (population.G - reference.G).norm(dim=1) / reference.G.norm(dim=1)
        assert error.max() < 0.01
        assert torch.allclose(population.buffers, reference.buffers, atol=1e-4)
        for ours, theirs in zip(population.generators, reference.generators, strict=True):
            assert torch.equal(ours.get_state(), theirs.get_state())
        reference.X.sub_(reference.G, alpha=0.01)


@pytest.mark.parametrize("backend", ["loop", "threads", "vmap"])
def test_a_backend_takes_the_batches_once(backend):
    class Counted(Stacked):
        taken = 0

        def all(self):
            type(self).taken += 1
            return super().all()

    population = Population("linear", 3, seed=0, backend=backend, threads=2)
    given = batch("linear", 3)
    population.gradients(Counted(given.inputs, given.targets))
    assert Counted.taken == 1


def test_bfloat16_is_near_float32_and_leaves_the_parameters_in_it():
    given = batch("mnist_fc", 2)
    reference = apart("mnist_fc", 2, "loop")
    expected = reference.gradients(given)
    for backend in ("loop", "vmap"):
        population = apart("mnist_fc", 2, backend, precision="bfloat16")
        losses = population.gradients(given)
        assert population.X.dtype == population.G.dtype == torch.float32
        assert not torch.equal(losses, expected)
        assert torch.allclose(losses, expected, rtol=0.01)
        assert (population.G - reference.G).norm() < 0.05 * reference.G.norm()


def test_auto_is_threads_on_a_cpu():
    assert Population("linear", 2, seed=0).backend == "threads"


def test_graphs_need_a_gpu():
    with pytest.raises(UserError, match="backend: 'graphs' needs a GPU"):
        Population("linear", 2, seed=0, backend="graphs")


def test_the_choice_leaves_state_and_streams_alone():
    population = Population("cifar10_vae", 2, seed=0, backend="loop")
    before = [population.X.clone(), population.buffers.clone()]
    states = [generator.get_state() for generator in population.generators]
    given = batch("cifar10_vae", 2)
    chosen = backends.fastest(population, given, ("loop", "threads", "graphs", "vmap"), steps=1)
    assert chosen in ("loop", "threads", "vmap")
    assert torch.equal(population.X, before[0])
    assert torch.equal(population.buffers, before[1])
    for generator, state in zip(population.generators, states, strict=True):
        assert torch.equal(generator.get_state(), state)


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), AttributeError("gone")])
def test_the_choice_passes_over_what_fails_or_disagrees(monkeypatch, capsys, error):
    def fails(workers):
        raise error

    def wrong(workers):
        right = backends.build(workers, "loop")

        def gradients(batches):
            losses = right(batches)
            workers.G.mul_(1.1)
            return losses

        return gradients

    def stale(workers):
        """Right on the batch and the state that it sees first."""
        right, first = backends.build(workers, "loop"), []

        def gradients(batches):
            first.append((right(batches), workers.G.clone()) if not first else first[0])
            workers.G.copy_(first[0][1])
            return first[0][0]

        return gradients

    monkeypatch.setitem(backends.BACKENDS, "fails", fails)
    monkeypatch.setitem(backends.BACKENDS, "wrong", wrong)
    monkeypatch.setitem(backends.BACKENDS, "stale", stale)
    population = Population("linear", 2, seed=0, backend="loop")
    names = ("threads", "fails", "wrong", "stale")
    assert backends.fastest(population, batch("linear", 2), names) == "threads"
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[:2] for line in told] == [
        ["backend", f"auto passes over {name!r}"] for name in names[1:]
    ]


def test_the_choice_dies_where_the_loop_does(monkeypatch):
    def fails(workers):
        raise RuntimeError("out of memory")

    monkeypatch.setitem(backends.BACKENDS, "fails", fails)
    population = Population("linear", 2, seed=0, backend="loop")
    with pytest.raises(RuntimeError, match="out of memory"):
        backends.fastest(population, batch("linear", 2), ("fails", "loop"))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_map_keeps_the_order_and_does_each_once(count):
    seen = []
    assert threads(count)(lambda i: seen.append(i) or i * i, 20) == [i * i for i in range(20)]
    assert sorted(seen) == list(range(20))


def test_a_map_raises_what_its_function_raises():
    def fail(i):
        raise ZeroDivisionError(i)

    with pytest.raises(ZeroDivisionError):
        threads(3)(fail, 4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("backend", ["graphs", "vmap", "auto"])
def test_backends_of_a_gpu_equal_its_loop(backend):
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


FUSED = """
import sys, torch
from ngo import fused
torch.save([fused.gossip_step(*step) for step in torch.load(sys.argv[1])], sys.argv[1])
"""


def fused_steps(path, steps):
    """Of each (X, W, γ, p, at), in Triton's interpreter, which needs no GPU."""
    pytest.importorskip("triton")
    torch.save(steps, path)
    command = [sys.executable, "-c", FUSED, path]
    finished(start(command, env={**os.environ, "TRITON_INTERPRET": "1"}))
    return torch.load(path)


@pytest.mark.parametrize(("p", "delayed"), [(0.5, False), (0.9, False), (0.7, True)])
def test_the_fused_step_equals_torchs(tmp_path, p, delayed):
    """Two programs for each worker."""
    generator = torch_stream(0, "test")
    W = graphs.mixing_matrix(graphs.random_graph(5, 0.5, generator))
    X = torch.randn(5, 1100, generator=generator)
    X[0, :100] = X[1, :100]  # φ(0) = 0
    at = torch.randn(5, 1100, generator=generator) if delayed else X
    (found,) = fused_steps(tmp_path / "step.pt", [(X, W, 0.1, p, at)])
    assert torch.allclose(found, gossip_step(X, W, 0.1, p, at=at), atol=1e-6)


def test_the_fused_pulls_are_right_at_the_edges_of_float32(tmp_path):
    """Of 0, NaN, infinity, and numbers without a leading 1, as of all others."""
    sizes = 2.0 ** torch.linspace(-149, 127.9, 2001, dtype=torch.float64)
    z = torch.cat([sizes.float(), torch.tensor([0.0, math.inf, math.nan])])
    z = torch.cat([z, -z])
    X, at = torch.zeros(2, len(z)), torch.stack([torch.zeros_like(z), z])
    W = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    powers = (0.5, 0.6, 0.75, 0.9, 1.5, 2)
    found = fused_steps(tmp_path / "steps.pt", [(X, W, 1.0, p, at) for p in powers])
    for p, new in zip(powers, found, strict=True):
        expected = z.double().sign() * z.double().abs() ** (2 * p - 1)
        expected[z.isnan()] = math.nan
        expected[expected.abs() > 3.4e38] *= math.inf
        assert torch.allclose(new[0].double(), expected, rtol=2e-5, atol=2.0**-126, equal_nan=True)
        assert torch.allclose(new[0], -new[1], equal_nan=True)


@pytest.mark.parametrize("out", [10, 20])
@pytest.mark.parametrize("grad", [False, True])
def test_convolution_pooling_and_relu_are_torchs(out, grad):
    from torch.nn import functional as F

    from ngo.layers import ConvPoolReLU2d

    generator = torch_stream(0, "test")
    layer = ConvPoolReLU2d(3, out, 5)
    x = torch.randn(4, 3, 16, 16, generator=generator, requires_grad=grad)
    y = layer(x)
    expected = F.relu(F.max_pool2d(F.conv2d(x, layer.weight, layer.bias), 2))
    assert torch.allclose(y, expected, atol=1e-5)
    tensors = [layer.weight, layer.bias, *([x] if grad else [])]
    weights = torch.randn(y.shape, generator=generator)
    found = torch.autograd.grad((weights * y).sum(), tensors)
    wanted = torch.autograd.grad((weights * expected).sum(), tensors)
    for ours, theirs in zip(found, wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-3, rtol=1e-4)
