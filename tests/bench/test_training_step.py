import pytest
import torch

from ngo.bench import training_step
from ngo.bench.training_step import make_spec, random_images
from ngo.engine.population import Population


@pytest.mark.parametrize("topology", ["ring", "complete"])
@pytest.mark.parametrize("backend", ["loop", "threads"])
def test_a_step_is_the_packages_own(backend, topology, monkeypatch):
    """It changes the parameters of all workers, and its measured part is a part of it."""
    made = []

    class Watched(Population):
        def __init__(self, *args, **how):
            super().__init__(*args, **how)
            made.append((self, self.X.clone()))

    monkeypatch.setattr("ngo.training.stepper.Population", Watched)
    case = {"model": "mnist_fc", "n": 3, "b": 2, "device": "cpu"}
    step = training_step.training_step(backend, topology, **case)
    assert step() > 0
    ((population, before),) = made
    assert population.backend == backend
    assert (before != population.X).any(1).all()


def test_the_spec_is_that_of_the_case():
    spec = make_spec("mnist_cnn", 10, 32, topology="ring")
    assert (spec.model, spec.workers, spec.batch_size) == ("mnist_cnn", 10, 32)
    assert (spec.method, spec.topology, spec.p) == ("ngo", "ring", training_step.P)


def test_random_images_have_the_shape_of_the_models_inputs():
    data = random_images("cifar10_cnn", 20, 5)
    assert data.train_inputs.shape == (20, 3, 32, 32)
    assert data.test_inputs.shape == (5, 3, 32, 32)
    assert data.train_inputs.dtype == torch.uint8
    assert data.normalised(data.train_inputs).shape == (20, 3, 32, 32)
    assert set(data.train_targets.tolist()) <= set(range(10))
    assert torch.equal(data.train_inputs, random_images("cifar10_cnn", 20, 5).train_inputs)
