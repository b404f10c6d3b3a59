"""What holds for all models of the package."""

import pytest
import torch
from model_cases import build, samples

from ngo.common.seeding import torch_stream
from ngo.data.dataset import DATASETS
from ngo.engine.backend import Stacked
from ngo.engine.population import Population
from ngo.models.model import MODELS
from ngo.models.task import TASKS

# Counted by hand from the supplement's tables: weights and biases, and 2 per unit of a batch
# normalization. A transformer of width w has 12w² + 9w per layer, (8 + 32)w for characters and
# positions, and 2w + 8(w + 1) at its end.
PARAMETERS = {
    "mnist_cnn": 21_840,
    "mnist_fc": 159_010,
    "mnist_vae": 1_068_820,
    "mnist_vae_20": 1_082_680,
    "cifar10_cnn": 62_006,
    "cifar10_vae": 1_414_592,
    "cifar100_cnn": 62_006 + 90 * 85,
    "resnet18": 11_279_112,
    "toy_net": 4_353,
    "linear": 10,
    "gpt_char": 2 * (12 * 64**2 + 9 * 64) + 40 * 64 + 2 * 64 + 8 * 65,
    "gpt_char_small": 2 * (12 * 32**2 + 9 * 32) + 40 * 32 + 2 * 32 + 8 * 33,
    "gpt_char_lora": 4 * (2 * 32 * (4 + 2 + 5 + 5) + 32 + 8),
}


def batch(name, n, b):
    inputs = samples(name, n, b)
    if MODELS[name].task == "vae":
        return inputs, (255 * inputs).round().to(torch.uint8)
    if MODELS[name].task == "next_character":
        return ((8 * inputs).long(),) * 2
    if MODELS[name].task == "regression":
        return inputs, inputs.sum(-1, keepdim=True)
    return inputs, torch.randint(0, 10, (n, b), generator=torch_stream(0, "labels"))


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_as_many_as_the_tables_say(name):
    assert sum(p.numel() for p in build(name).parameters()) == PARAMETERS[name]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_serves_a_task_and_some_data_set(name):
    assert MODELS[name].task in TASKS
    assert MODELS[name].input_shape in {source.input_shape for source in DATASETS.values()}


@pytest.mark.parametrize("name", MODELS)
def test_a_worker_of_a_population_is_a_plain_module(name):
    """Parameters that are views of a row, in threads, give the plain module's loss and gradient."""
    inputs, targets = batch(name, 2, 3)
    population = Population(name, 2, seed=0, backend="threads", threads=2)
    losses = population.gradients(Stacked(inputs, targets))
    plain = build(name)
    loss = TASKS[MODELS[name].task].loss(plain(inputs[0]), targets[0]).mean()
    loss.backward()
    assert losses[0].item() == pytest.approx(loss.item(), rel=1e-5)
    norm = torch.cat([p.grad.flatten() for p in plain.parameters()]).norm()
    assert population.G[0].norm().item() == pytest.approx(norm.item(), rel=1e-3)
    assert norm > 0
