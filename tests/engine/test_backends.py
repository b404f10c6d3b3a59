"""Backends: the gradients of a loop, of all workers or of some; which of them ``auto`` takes."""

from dataclasses import replace

import pytest
import torch
from cases import cases, refused
from conftest import apart, batch
from stand_in import Generator
from torch import nn

from ngo.common.devices import float32_parts
from ngo.common.registries import BACKENDS, INITIALIZATIONS, MODELS, TASKS
from ngo.common.seeding import torch_stream
from ngo.engine import backends as auto
from ngo.engine.backends import Stacked, backend
from ngo.engine.population import Population
from ngo.models.model import Model
from ngo.native import build
from ngo.native.layer_chain import Chain
from verdicts.registry import UserError

CHOSEN = [1, 4, 6]
OTHER = "its gradients are not those of plain autograd"


def scaled(factor):
    """A backend whose gradients are those of ``loop`` times a factor."""

    def build(workers):
        loop = BACKENDS["loop"](workers)

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
    for i, stream in enumerate(some.generators):
        same = (every.generators if i in CHOSEN else before)[i]
        assert torch.equal(stream.get_state(), same.get_state())


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
        assert ((population.G - reference.G).norm(dim=1) / reference.G.norm(dim=1)).max() < 0.01
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


def test_auto_takes_the_fast_backend_also_where_numbers_are_not_finite():
    population = Population("linear", 2, seed=0)
    population.X[1] = torch.nan
    assert population.gradients(batch("linear", 2)).isnan().tolist() == [False, True]
    assert population.backend == "compiled"


def test_cuda_graphs_and_tf32_need_a_gpu_and_tf32_is_on_in_passes_only(monkeypatch):
    refused("backend: 'graphs' needs a GPU", Population, "linear", 2, seed=0, backend="graphs")
    with pytest.raises(UserError, match="precision: 'tf32' needs a GPU; use float32 or bfloat16"):
        Population("linear", 2, seed=0, precision="tf32")
    # On the device ``meta``, which has no numbers.
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
    with pytest.raises(UserError, match="backend: 'compiled' takes chains of known layers"):
        Population("cifar10_vae", 2, seed=0, backend="compiled")
    assert chosen("mnist_cnn")[0] == "compiled"
    assert chosen("cifar10_vae")[0] == "threads"
    assert chosen("mnist_fc", precision="bfloat16")[0] == "threads"
    assert not caplog.records


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
def test_a_chain_with_other_losses_in_evaluation_is_noticed(monkeypatch, caplog):
    monkeypatch.setattr(Chain, "scores", lambda chain, X, *given: [(1.0, 0)])
    assert chosen("mnist_fc")[0] == "threads"
    assert "'compiled': its losses are not those of the module" in caplog.messages[0]


@pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
@cases(
    "poison, reason",
    (lambda X, G, losses: G.mul_(1.1), OTHER),
    (lambda X, G, losses: losses.mul_(1.1), OTHER),
    (lambda X, G, losses: G.fill_(torch.nan), OTHER),
    (lambda X, G, losses: torch.ones(2) @ torch.ones(3), "inconsistent tensor size"),
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


def softsign():
    def build(generator):
        return torch.nn.Sequential(
            torch.nn.Linear(3, 8), torch.nn.Softsign(), torch.nn.Linear(8, 2)
        )

    return Model(build, input_shape=(3,), task="classification")


def stepped(model, n, b=4):
    """A population after its first gradients."""
    population = Population(model, n, seed=0)
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(n, b, 3, generator=generator)
    population.gradients(Stacked(inputs, torch.randint(2, (n, b), generator=generator)))
    return population


def test_auto_is_vmap_for_many_small_models_on_a_cpu_and_else_threads(monkeypatch, caplog):
    n = auto.LEAST_WORKERS
    population = stepped(softsign(), n)
    assert population.backend == "vmap"
    assert torch.equal(population.X, Population(softsign(), n, seed=0, backend="vmap").X)
    with monkeypatch.context() as patch:
        patch.setitem(BACKENDS, "vmap", scaled(1.1))
        assert stepped(softsign(), n).backend == "threads"
    assert caplog.messages[0].startswith("backend: auto skips 'vmap': ")
    assert stepped(softsign(), n - 1).backend == "threads"
    parameters = 6 * 8 + 2
    monkeypatch.setattr(auto, "MOST_WORK", 4 * parameters)
    assert stepped(softsign(), n, b=4).backend == "vmap"
    assert stepped(softsign(), n, b=5).backend == "threads"
    monkeypatch.setattr(auto, "MOST_PARAMETERS", parameters - 1)
    assert stepped(softsign(), n).backend == "threads"


def test_backends_that_fail_or_disagree_are_skipped(monkeypatch, caplog):
    def fails(workers):
        raise AttributeError("gone")

    def stale(workers):
        """Right on the batch and the state that it sees first."""
        right, first = BACKENDS["loop"](workers), []

        def gradients(batches):
            first.append((right(batches), workers.G.clone()) if not first else first[0])
            workers.G.copy_(first[0][1])
            return first[0][0]

        return gradients

    population, names = Population("linear", 2, seed=0, backend="loop"), ("fails", "wrong", "stale")
    for name, entry in zip(names, (fails, scaled(1.1), stale), strict=True):
        monkeypatch.setitem(BACKENDS, name, entry)
        assert not auto.agrees(population, batch("linear", 2), name)
    assert auto.agrees(population, batch("linear", 2), "threads")
    told = [message.split(": ")[:2] for message in caplog.messages]
    assert told == [["backend", f"auto skips {name!r}"] for name in names]


# All workers as one matrix: gradients, scores, buffers, and where they start.


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize(("one", "many"), [("loop", "threads"), ("auto", "auto")])
def test_any_number_of_threads_gives_the_same_bytes(one, many, threads):
    states = []
    for name, count in ((one, 1), (many, threads)):
        population = Population("mnist_cnn", 5, seed=0, backend=name, threads=count)
        trail = []
        for step in range(3):
            trail.append(population.gradients(batch("mnist_cnn", 5, seed=step)))
            population.X.sub_(population.G, alpha=0.1)
        given = batch("mnist_cnn", 2, 40, seed=9)
        scores = population.evaluate(list(given.inputs), list(given.targets))
        states.append((torch.stack(trail), population.X.clone(), scores))
    (losses, X, scores), (other_losses, other_X, other_scores) = states
    assert torch.equal(losses, other_losses)
    assert torch.equal(X, other_X)
    assert scores == other_scores


def test_buffers_are_local_and_averaged_in_the_consensus_model():
    """Batch normalization's running statistics, of a model that has them."""
    generator = torch_stream(0, "test")
    population = Population("cifar10_vae", 2, seed=0)
    images = torch.randint(0, 256, (2, 4, 3, 32, 32), dtype=torch.uint8, generator=generator)
    population.gradients(Stacked(images / 255, images))
    assert not torch.equal(population.buffers[0], population.buffers[1])
    consensus, *workers = population.models()
    for name, mean in consensus.named_buffers():
        own = [dict(worker.named_buffers())[name] for worker in workers]
        if mean.is_floating_point():
            assert torch.allclose(mean, (own[0] + own[1]) / 2, atol=1e-7)
    # The rows of X agree, the buffers do not: each worker is evaluated with its own.
    scores = population.evaluate([images[0] / 255], [images[0]])
    assert scores.worker_losses[0] != scores.worker_losses[1]
    for some in ([], [1]):
        found = population.evaluate([images[0] / 255], [images[0]], workers=some)
        assert found.worker_losses == [scores.worker_losses[i] for i in some]


def counting(generator):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 3), nn.BatchNorm1d(3, momentum=None))


def three(workers=None):
    """A batch of three classes for these workers."""
    given, rows = batch("mnist_cnn", 3), slice(None) if workers is None else workers
    return Stacked(given.inputs[rows], given.targets[rows] % 3, workers)


def counted(backend="loop"):
    model = Model(counting, input_shape=(1, 28, 28), task="classification")
    population = Population(model, 3, seed=0, backend=backend)
    for workers in (None, [1], [1, 2]):
        population.gradients(three(workers))
    return population


def test_integer_buffers_are_restored_and_their_maximum_is_that_of_the_consensus_model():
    population = counted()
    consensus, *workers = (int(each[2].num_batches_tracked) for each in population.models())
    assert workers == [1, 3, 2]
    assert consensus == 3
    refused("^backend: 'vmap' fails on this model .*; use auto, loop", counted, "vmap")
    population._honest = 1  # workers that lie do not count
    assert int(population.models()[0][2].num_batches_tracked) == 1
    # With ``momentum=None``, the running mean depends on the number of batches.
    population = counted()
    other = Population(Model(counting, (1, 28, 28), "classification"), 3, seed=0, backend="loop")
    other.load_state_dict(population.state_dict())
    with auto.restored(population):
        population.gradients(three())
    for one in (population, other):
        one.gradients(three())
        assert one.counts.flatten().tolist() == [2, 4, 3]
    assert torch.equal(population.buffers, other.buffers)


def starts(**how):
    return Population("mnist_cnn", how.pop("n", 4), 0, backend="loop", **how).X


def test_all_workers_start_alike_or_each_from_its_own_draw():
    assert list(INITIALIZATIONS) == ["same", "by_worker"]
    same, own = starts(), starts(initialization="by_worker")
    assert (same == same[0]).all()
    assert (torch.pdist(torch.cat([same[:1], own])) > 1).all()
    assert torch.equal(own, starts(initialization="by_worker"))
    assert 0.9 < float(own.std() / same[0].std()) < 1.1
    every = starts(n=6, initialization="by_worker")  # whoever else is in this process
    assert torch.equal(starts(n=2, workers=[1, 4], initialization="by_worker"), every[[1, 4]])
