"""Backends: the gradients of a loop, of all workers or of some; which of them ``auto`` takes."""

from dataclasses import replace

import pytest
import torch
from conftest import apart, batch
from stand_in import Generator

from ngo.common.devices import float32_parts
from ngo.engine import backends as auto
from ngo.engine.backends import BACKENDS, Stacked, agrees, backend, build_backend
from ngo.engine.population import Population
from ngo.models.model import MODELS, Model
from ngo.models.task import TASKS
from ngo.native import build
from ngo.native.layer_chain import Chain
from verdicts.registry import UserError


def scaled(factor):
    """A backend whose gradients are those of ``loop`` times a factor."""

    def build(workers):
        loop = build_backend(workers, "loop")

        def gradients(batches):
            losses = loop(batches)
            workers.G.mul_(factor)
            return losses

        return gradients

    return build


def test_a_backend_of_ones_own(own_entries):
    backend("halved")(scaled(0.5))
    found, reference = apart("linear", 2, "halved"), apart("linear", 2, "loop")
    given = batch("linear", 2)
    assert torch.equal(found.gradients(given), reference.gradients(given))
    assert torch.equal(2 * found.G, reference.G)


def test_bfloat16_is_near_float32_and_leaves_the_parameters_in_it():
    given = batch("toy_net", 2)
    reference = apart("toy_net", 2, "loop")
    expected = reference.gradients(given)
    for name in ("loop", "vmap"):
        population = apart("toy_net", 2, name, precision="bfloat16")
        losses = population.gradients(given)
        assert population.X.dtype == population.G.dtype == torch.float32
        assert not torch.equal(losses, expected)
        assert torch.allclose(losses, expected, rtol=0.01)
        assert (population.G - reference.G).norm() < 0.05 * reference.G.norm()


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
    "model", sorted(set(MODELS) - {"mnist_vae_20", "gpt_char", "cifar100_cnn", "resnet18"})
)
def test_vmap_equals_the_loop(model):
    """With the same dropout masks and codes, and the same running means of normalization.

    Each step from the same state: pooling and normalization magnify differences of rounding.
    """
    n, count = (2, 1) if model == "cifar10_vae" else (3, 2)
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


@pytest.mark.parametrize("model", ["mnist_cnn", "cifar10_vae", "gpt_char_small"])
def test_models_are_evaluated_together_as_one_after_another(model):
    """As on a GPU, by vmap; batch normalization has each model's buffers."""
    population = apart(model, 3, "loop")
    given = batch(model, 2)
    population.gradients(batch(model, 3))  # moves the buffers
    alone = population.evaluate(given.inputs, given.targets, workers=[2, 0])
    consensus, *_ = population.models()
    sums = population.batched_sums(consensus, [2, 0], given.inputs, given.targets)
    losses, scores = ([value / 8 for value in values] for values in zip(*sums, strict=True))
    assert losses == pytest.approx([alone.consensus_loss, *alone.worker_losses], rel=1e-5)
    if population.task.score is not None:
        assert scores == pytest.approx([alone.consensus_accuracy, *alone.worker_accuracies])


compiled = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


@compiled
def test_other_models_are_refused():
    with pytest.raises(UserError, match="backend: 'compiled' takes chains of known layers"):
        Population("cifar10_vae", 2, seed=0, backend="compiled")


def test_cuda_graphs_and_tf32_need_a_gpu():
    with pytest.raises(UserError, match="backend: 'graphs' needs a GPU"):
        Population("linear", 2, seed=0, backend="graphs")
    with pytest.raises(UserError, match="precision: 'tf32' needs a GPU; use float32 or bfloat16"):
        Population("linear", 2, seed=0, precision="tf32")


def test_tf32_is_on_in_forward_and_backward_passes_only(monkeypatch):
    """On the device ``meta``, which has no numbers."""
    for part in float32_parts():
        part.fp32_precision = "ieee"
    monkeypatch.setattr(torch, "Generator", Generator)

    def precisions():
        return {part.fp32_precision for part in float32_parts()}

    def loss(outputs, targets):
        seen.append(precisions())
        outputs.register_hook(lambda gradient: seen.append(precisions()))
        return outputs[:, 0]

    seen, task = [], replace(TASKS["regression"], loss=loss)
    population = Population("linear", 2, 0, task=task, device="meta", precision="tf32")
    population._gradients(batch("linear", 2, device="meta"))
    population.gradients(batch("linear", 2, device="meta"))
    assert seen == [{"ieee"}] * 4 + [{"tf32"}] * 4
    assert precisions() == {"ieee"}


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


def chosen(model, **how):
    """The backend of the population after its first gradients, and the population."""
    population = apart(model, 6, "auto", **how)
    population.gradients(batch(model, 6))
    return population.backend, population


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
def test_auto_is_compiled_for_chains_on_a_cpu(caplog):
    assert chosen("mnist_cnn")[0] == "compiled"
    assert chosen("cifar10_vae")[0] == "threads"
    assert chosen("mnist_fc", precision="bfloat16")[0] == "threads"
    assert not caplog.records


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
@pytest.mark.parametrize(
    ("poison", "reason"),
    [
        (lambda X, G, losses: G.mul_(1.1), "its gradients are not those of plain autograd"),
        (lambda X, G, losses: losses.mul_(1.1), "its gradients are not those of plain autograd"),
        (lambda X, G, losses: G.fill_(torch.nan), "its gradients are not those of plain autograd"),
        (lambda X, G, losses: torch.ones(2) @ torch.ones(3), "inconsistent tensor size"),
    ],
)
def test_a_wrong_kernel_is_noticed_on_the_first_batch(monkeypatch, caplog, poison, reason):
    right = Chain.gradients

    def wrong(chain, X, G, *given, **how):
        losses = right(chain, X, G, *given, **how)
        poison(X[0], G[0], losses)
        return losses

    monkeypatch.setattr(Chain, "gradients", wrong)
    name, population = chosen("mnist_fc")
    assert (name, population.chain) == ("threads", None)
    (message,) = caplog.messages
    assert message.startswith(f"backend: auto skips 'compiled': {reason}")
    expected = apart("mnist_fc", 6, "loop")
    expected.gradients(batch("mnist_fc", 6))
    assert torch.equal(population.G, expected.G)


def tanh(width=8, layer=torch.nn.Tanh):
    def build(generator):
        return torch.nn.Sequential(torch.nn.Linear(3, width), layer(), torch.nn.Linear(width, 2))

    return Model(build, input_shape=(3,), task="classification")


def stepped(model, n, b=4):
    """A population after its first gradients."""
    population = Population(model, n, seed=0)
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(n, b, 3, generator=generator)
    targets = torch.randint(2, (n, b), generator=generator)
    population.gradients(Stacked(inputs, targets))
    return population


class Fails(torch.nn.Module):
    def forward(self, x):
        return x * float(x.detach().sum())


def test_auto_is_vmap_for_many_small_models_on_a_cpu():
    population = stepped(tanh(), auto.LEAST_WORKERS)
    assert population.backend == "vmap"
    reference = Population(tanh(), population.n, seed=0, backend="vmap")
    assert torch.equal(population.X, reference.X)


def test_auto_is_threads_where_vmap_is_not_faster(monkeypatch):
    n = auto.LEAST_WORKERS
    assert stepped(tanh(), n - 1).backend == "threads"
    parameters = 6 * 8 + 2
    monkeypatch.setattr(auto, "MOST_WORK", 4 * parameters)
    assert stepped(tanh(), n, b=4).backend == "vmap"
    assert stepped(tanh(), n, b=5).backend == "threads"
    monkeypatch.setattr(auto, "MOST_PARAMETERS", parameters - 1)
    assert stepped(tanh(), n).backend == "threads"


def test_auto_is_threads_where_vmap_fails_or_disagrees(monkeypatch, caplog):
    assert stepped(tanh(layer=Fails), auto.LEAST_WORKERS).backend == "threads"

    def wrong(workers):
        right = build_backend(workers, "loop")
        return lambda batches: right(batches) * 1.1

    monkeypatch.setitem(BACKENDS, "vmap", wrong)
    assert stepped(tanh(), auto.LEAST_WORKERS).backend == "threads"
    assert all(line.startswith("backend: auto skips 'vmap': ") for line in caplog.messages)
    assert len(caplog.messages) == 2


def test_backends_that_fail_or_disagree_are_skipped(monkeypatch, caplog):
    def fails(workers):
        raise AttributeError("gone")

    def stale(workers):
        """Right on the batch and the state that it sees first."""
        right, first = build_backend(workers, "loop"), []

        def gradients(batches):
            first.append((right(batches), workers.G.clone()) if not first else first[0])
            workers.G.copy_(first[0][1])
            return first[0][0]

        return gradients

    population, names = Population("linear", 2, seed=0, backend="loop"), ("fails", "wrong", "stale")
    for name, entry in zip(names, (fails, scaled(1.1), stale), strict=True):
        monkeypatch.setitem(BACKENDS, name, entry)
        assert not agrees(population, batch("linear", 2), name)
    assert agrees(population, batch("linear", 2), "threads")
    assert [message.split(": ")[:2] for message in caplog.messages] == [
        ["backend", f"auto skips {name!r}"] for name in names
    ]
