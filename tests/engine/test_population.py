"""All workers as one matrix: gradients, scores, buffers, and where they start."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.engine.backends import INITIALIZATIONS, Stacked, restored
from ngo.engine.population import Population
from ngo.models.model import Model
from verdicts.registry import UserError


def batch(n, b=8, seed=0):
    generator = torch_stream(seed, "test")
    inputs = torch.randn(n, b, 1, 28, 28, generator=generator)
    return inputs, torch.randint(0, 10, (n, b), generator=generator)


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize(("one", "many"), [("loop", "threads"), ("auto", "auto")])
def test_any_number_of_threads_gives_the_same_bytes(one, many, threads):
    states = []
    for backend, count in ((one, 1), (many, threads)):
        population = Population("mnist_cnn", 5, seed=0, backend=backend, threads=count)
        trail = []
        for step in range(3):
            trail.append(population.gradients(Stacked(*batch(5, seed=step))))
            population.X.sub_(population.G, alpha=0.1)
        inputs, targets = batch(2, 40, seed=9)
        scores = population.evaluate(list(inputs), list(targets))
        states.append((torch.stack(trail), population.X.clone(), scores))
    (losses, X, scores), (other_losses, other_X, other_scores) = states
    assert torch.equal(losses, other_losses)
    assert torch.equal(X, other_X)
    assert scores == other_scores


def test_evaluation_is_the_plain_mean_without_dropout():
    population = Population("mnist_cnn", 2, seed=0)
    population.gradients(Stacked(*batch(2)))
    population.X.sub_(population.G)
    inputs, targets = batch(3, 20, seed=4)
    scores = population.evaluate(list(inputs), list(targets))
    for i, module in enumerate(population.modules):
        with torch.no_grad():
            outputs = module.eval()(inputs.flatten(0, 1))
        assert scores.worker_losses[i] == pytest.approx(
            F.cross_entropy(outputs, targets.flatten()).item(), rel=1e-5
        )
        hits = (outputs.argmax(1) == targets.flatten()).double().mean().item()
        assert scores.worker_accuracies[i] == pytest.approx(hits)


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
    assert population.evaluate([images[0] / 255], [images[0]], workers=()).worker_losses == []
    assert population.evaluate([images[0] / 255], [images[0]], workers=[1]).worker_losses == [
        scores.worker_losses[1]
    ]


def counting(generator):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 3), nn.BatchNorm1d(3, momentum=None))


def counted(backend="loop"):
    model = Model(counting, input_shape=(1, 28, 28), task="classification")
    population = Population(model, 3, seed=0, backend=backend)
    inputs, targets = batch(3)
    for workers in (None, [1], [1, 2]):
        rows = slice(None) if workers is None else workers
        population.gradients(Stacked(inputs[rows], targets[rows] % 3, workers))
    return population


def test_an_integer_buffer_of_the_consensus_model_is_the_maximum_over_workers():
    population = counted()
    consensus, *workers = (int(each[2].num_batches_tracked) for each in population.models())
    assert workers == [1, 3, 2]
    assert consensus == 3
    population._honest = 1  # workers that lie do not count
    assert int(population.models()[0][2].num_batches_tracked) == 1


def test_integer_buffers_are_restored_and_not_left_by_a_trial_of_backends():
    """With ``momentum=None``, the running mean depends on the number of batches."""
    population = counted()
    other = Population(Model(counting, (1, 28, 28), "classification"), 3, seed=0, backend="loop")
    other.load_state_dict(population.state_dict())
    with restored(population):
        population.gradients(Stacked(*(each % 3 for each in batch(3))))
    for one in (population, other):
        one.gradients(Stacked(batch(3)[0], batch(3)[1] % 3))
        assert one.counts.flatten().tolist() == [2, 4, 3]
    assert torch.equal(population.buffers, other.buffers)


def test_what_vmap_can_not_compute_is_told_in_a_line():
    with pytest.raises(UserError, match="^backend: 'vmap' fails on this model .*; use auto, loop"):
        counted("vmap")


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
