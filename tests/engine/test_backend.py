"""Backends: the gradients of a loop, of all workers or of some."""

import pytest
import torch
from conftest import apart, batch

from ngo.common.devices import float32_parts
from ngo.common.registry import UserError
from ngo.engine.backends import Stacked, backend, build_backend, restored
from ngo.engine.population import Population
from ngo.models.model import MODELS
from ngo.native import build


def test_an_unknown_backend_lists_the_known():
    message = (
        r"backend: 'thread' is unknown.*auto, compiled, graphs, loop, threads, vmap.*'threads'"
    )
    with pytest.raises(UserError, match=message):
        build_backend(None, "thread")


def test_a_backend_of_ones_own(own_entries):
    @backend("halved")
    def halved(workers):
        loop = build_backend(workers, "loop")

        def gradients(batches):
            losses = loop(batches)
            workers.G.div_(2)
            return losses

        return gradients

    found, reference = apart("linear", 2, "halved"), apart("linear", 2, "loop")
    given = batch("linear", 2)
    assert torch.equal(found.gradients(given), reference.gradients(given))
    assert torch.equal(2 * found.G, reference.G)


@pytest.mark.parametrize("backend", ["auto", "compiled", "loop", "threads", "vmap"])
def test_a_backend_takes_the_batches_once(backend):
    class Counted(Stacked):
        taken = 0

        def all(self):
            type(self).taken += 1
            return super().all()

        def rows(self):
            type(self).taken += 1
            return super().rows()

    population = Population("linear", 3, seed=0, backend=backend, threads=2)
    given = batch("linear", 3)
    population.gradients(Counted(given.inputs, given.targets))
    assert Counted.taken == 1


def test_bfloat16_is_near_float32_and_leaves_the_parameters_in_it():
    given = batch("mnist_fc", 2)
    reference = apart("mnist_fc", 2, "loop")
    expected = reference.gradients(given)
    for name in ("loop", "vmap"):
        population = apart("mnist_fc", 2, name, precision="bfloat16")
        losses = population.gradients(given)
        assert population.X.dtype == population.G.dtype == torch.float32
        assert not torch.equal(losses, expected)
        assert torch.allclose(losses, expected, rtol=0.01)
        assert (population.G - reference.G).norm() < 0.05 * reference.G.norm()


def test_state_is_restored_after_an_error():
    population = apart("mnist_cnn", 2, "loop")
    before = {key: value.clone() for key, value in population.state_dict().items()}

    def fail():
        with restored(population):
            population.gradients(batch("mnist_cnn", 2))
            population.X.zero_()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    for key, value in population.state_dict().items():
        assert torch.equal(value, before[key])


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


@pytest.mark.parametrize(
    "model", sorted(set(MODELS) - {"mnist_vae_20", "gpt_char", "cifar100_cnn"})
)
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


compiled = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


@compiled
@pytest.mark.parametrize("model", ["mnist_cnn", "mnist_vae"])
def test_steps_are_those_of_the_loop(model):
    """With the dropout masks or the noise of each worker's stream, which end in the same state."""
    ours, theirs = apart(model, 3, "compiled"), apart(model, 3, "loop")
    for step, b in enumerate((4, 9, 4)):
        ours.X.copy_(theirs.X)
        given = batch(model, 3, b=b, seed=step)
        assert torch.allclose(ours.gradients(given), theirs.gradients(given), rtol=1e-5)
        assert (ours.G - theirs.G).norm() < 1e-5 * theirs.G.norm()
        theirs.X.sub_(theirs.G, alpha=0.01)
    for mine, other in zip(ours.generators, theirs.generators, strict=True):
        assert torch.equal(mine.get_state(), other.get_state())


@compiled
def test_other_models_are_refused():
    with pytest.raises(UserError, match="backend: 'compiled' takes chains of known layers"):
        Population("cifar10_vae", 2, seed=0, backend="compiled")


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
