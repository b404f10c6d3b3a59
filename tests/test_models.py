import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ngo.backends import Stacked
from ngo.datasets import DATASETS
from ngo.models import MODELS
from ngo.population import Population
from ngo.seeding import stream_seed, torch_stream
from ngo.tasks import TASKS


def build(name, seed=0):
    """The model as a population's worker 0 has it at first."""
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(seed, "init"))
        return MODELS[name].build(torch_stream(seed, "dropout", 0))


def samples(name, *shape):
    """Random inputs ``[*shape, *input_shape]`` for a model, pixels in [0, 1] for an image."""
    return torch.rand(*shape, *MODELS[name].input_shape, generator=torch_stream(0, "x"))


def shapes(module, x):
    """The shapes after each layer that changes them."""
    found = []
    for layer in module:
        before, x = x.shape, layer(x)
        if x.shape != before:
            found.append(tuple(x.shape[1:]))
    return found


# Worked out by hand from the supplement's tables: weights and biases, and 2 for each unit of a
# batch norm.
PARAMETERS = {
    "mnist_cnn": 21_840,
    "mnist_fc": 159_010,
    "mnist_vae": 1_068_820,
    "cifar10_cnn": 62_006,
    "cifar10_vae": 1_414_592,
    "resnet18": 11_279_112,
    "toy_net": 4_353,
    "linear": 10,
}


def test_on_a_cpu_an_evaluation_takes_fewer_samples_of_the_small_networks_at_once():
    sizes = {
        name: [MODELS[name].chunk_on(torch.device(kind)) for kind in ("cpu", "cuda")]
        for name in ("mnist_cnn", "cifar10_cnn", "mnist_vae", "cifar10_vae")
    }
    assert sizes == {
        "mnist_cnn": [64, 250],
        "cifar10_cnn": [64, 250],
        "mnist_vae": [250, 250],  # of these each chunk has the same noise
        "cifar10_vae": [50, 50],
    }


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_as_many_as_the_tables_say(name):
    assert sum(p.numel() for p in build(name).parameters()) == PARAMETERS[name]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("mnist_cnn", (2, 10)),
        ("mnist_fc", (2, 10)),
        ("cifar10_cnn", (2, 10)),
        ("resnet18", (2, 200)),
        ("toy_net", (2, 1)),
        ("linear", (2, 1)),
    ],
)
def test_outputs_have_a_number_for_each_class_or_target(name, shape):
    assert build(name).eval()(samples(name, 2)).shape == shape


@pytest.mark.parametrize("name", MODELS)
def test_every_model_serves_a_task_and_some_data_set(name):
    assert MODELS[name].task in TASKS
    assert MODELS[name].input_shape in {source.input_shape for source in DATASETS.values()}


def test_mnist_cnn_is_the_supplements():
    model = build("mnist_cnn")
    assert [tuple(p.shape) for p in model.parameters()] == [
        (10, 1, 5, 5), (10,), (20, 10, 5, 5), (20,), (50, 320), (50,), (10, 50), (10,),
    ]  # fmt: skip
    assert torch.allclose(model.eval()(samples("mnist_cnn", 3)).exp().sum(1), torch.ones(3))


def test_cifar10_cnn_is_the_supplements():
    assert shapes(build("cifar10_cnn"), samples("cifar10_cnn", 2)) == [
        (6, 14, 14), (16, 5, 5), (400,), (120,), (84,), (10,),
    ]  # fmt: skip


def test_mnist_vae_is_the_supplements():
    model = build("mnist_vae")
    assert shapes(model.encoder, samples("mnist_vae", 2)) == [(784,), (512,), (256,), (4,)]
    assert model.latent == 2
    assert shapes(model.decoder, torch.zeros(2, 2)) == [(256,), (512,), (784,), (1, 28, 28)]


def test_cifar10_vae_is_the_supplements():
    model = build("cifar10_vae")
    assert shapes(model.encoder, samples("cifar10_vae", 2)) == [
        (16, 32, 32), (32, 16, 16), (16, 8, 8), (1024,), (512,), (2 * model.latent,),
    ]  # fmt: skip
    assert shapes(model.decoder, torch.zeros(2, model.latent)) == [
        (512,), (1024,), (64, 4, 4), (32, 8, 8), (16, 16, 16), (768, 32, 32), (256, 3, 32, 32),
    ]  # fmt: skip
    layers = [*model.encoder, *model.decoder]
    convolutions = [k for k in layers if isinstance(k, nn.Conv2d | nn.ConvTranspose2d)]
    assert [(k.out_channels, k.kernel_size[0], k.stride[0]) for k in convolutions] == [
        (16, 3, 1), (32, 3, 2), (32, 3, 1), (16, 3, 2),
        (32, 3, 2), (32, 3, 1), (16, 3, 2), (768, 3, 2),
    ]  # fmt: skip
    assert sum(isinstance(k, nn.BatchNorm1d | nn.BatchNorm2d) for k in layers) == 10


def test_cifar10_vaes_values_come_first_and_colours_second():
    """Channel 3 v + c of the last layer is the logit of value v of colour c."""
    model = build("cifar10_vae").eval()
    z = torch.randn(2, model.latent, generator=torch_stream(0, "z"))
    channels = model.decoder[:-1](z)
    assert torch.equal(model.decode(z)[:, 17, 2], channels[:, 3 * 17 + 2])


def test_resnet18_keeps_running_statistics():
    model = build("resnet18")
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert len(norms) == 20
    assert norms[0].running_mean.eq(0).all()
    model(samples("resnet18", 2))
    assert norms[0].running_mean.ne(0).all()


def test_toy_net_can_be_negative_and_fits_a_sine():
    model = build("toy_net")
    x = torch.linspace(-math.pi, math.pi, 64)[:, None]
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(300):
        optimizer.zero_grad()
        F.mse_loss(model(x), x.sin()).backward()
        optimizer.step()
    assert (model(x) - x.sin()).abs().max() < 0.2


def test_linear_is_a_product():
    model, x = build("linear"), samples("linear", 5)
    assert torch.allclose(model(x)[:, 0], x @ model.weight[0])


def batch(name, n, b):
    inputs = samples(name, n, b)
    if MODELS[name].task == "vae":
        return inputs, (255 * inputs).round().to(torch.uint8)
    if MODELS[name].task == "regression":
        return inputs, inputs.sum(-1, keepdim=True)
    return inputs, torch.randint(0, 10, (n, b), generator=torch_stream(0, "labels"))


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
