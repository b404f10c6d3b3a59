"""The models of the package and of plugins: their parameters, layers and gradients."""

import math

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from ngo.common.registries import MODELS, TASKS
from ngo.common.seeding import stream_seed, torch_stream
from ngo.data.dataset import Dataset
from ngo.engine.backends import Stacked
from ngo.engine.population import Population
from ngo.models.task import normalised_batch
from ngo.models.transformer import CausalAttention, Transformer

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
NEXT_CHARACTER = TASKS["next_character"]


def build(name, seed=0):
    """The model with the initial parameters of a run."""
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(seed, "init"))
        return MODELS[name].build(torch_stream(seed, "dropout", 0))


def samples(name, *shape):
    """Random inputs ``[*shape, *input_shape]`` for a model, pixels in [0, 1] for an image."""
    return torch.rand(*shape, *MODELS[name].input_shape, generator=torch_stream(0, "x"))


def shapes(module, x):
    """The shape after each layer that changes it."""
    actual = []
    for layer in module:
        before, x = x.shape, layer(x)
        if x.shape != before:
            actual.append(tuple(x.shape[1:]))
    return actual


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
    # Channel 3 v + c of the last layer is the logit of value v of colour c.
    model = build("cifar10_vae").eval()
    z = torch.randn(2, model.latent, generator=torch_stream(0, "z"))
    channels = model.decoder[:-1](z)
    assert torch.equal(model.decode(z)[:, 17, 2], channels[:, 3 * 17 + 2])


def test_mnist_cnn_is_the_supplements():
    model = build("mnist_cnn")
    assert [tuple(p.shape) for p in model.parameters()] == [
        (10, 1, 5, 5), (10,), (20, 10, 5, 5), (20,), (50, 320), (50,), (10, 50), (10,),
    ]  # fmt: skip
    assert torch.allclose(model.eval()(samples("mnist_cnn", 3)).exp().sum(1), torch.ones(3))


def small(seed=0, dtype=torch.float64):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Transformer(5, 12, width=8, layers=2, heads=2).to(dtype)


def text(*shape, seed=0):
    return torch.randint(0, 5, shape, generator=torch_stream(seed, "text"))


def test_attention_is_torchs_and_sees_no_later_character():
    module, characters = small(), text(3, 12)
    outputs = module(characters)
    assert outputs.shape == (3, 12, 5)
    for t in (1, 6, 11):
        changed = characters.clone()
        changed[:, t] = (changed[:, t] + 1) % 5
        moved = (module(changed) - outputs).abs().amax((0, 2)) > 1e-9
        assert moved.tolist() == [k >= t for k in range(12)]
    assert torch.allclose(module(characters[:, :7]), outputs[:, :7])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer, x = CausalAttention(8, 2).double(), torch.randn(3, 12, 8).double()
    parts = layer.queries_keys_values(x).split(8, -1)
    heads = [part.unflatten(-1, (2, 4)).transpose(1, 2) for part in parts]
    expected = F.scaled_dot_product_attention(*heads, is_causal=True)
    assert torch.allclose(layer(x), layer.out(expected.transpose(1, 2).flatten(-2)))


def test_gradients_and_their_derivatives_are_the_numerical_ones():
    module, characters = small(), text(2, 12)
    weight = module.blocks[0].attention.queries_keys_values.weight

    def loss(weight):
        name = "blocks.0.attention.queries_keys_values.weight"
        return (
            TASKS["next_character"]
            .loss(functional_call(module, {name: weight}, (characters,)), characters)
            .mean()
        )

    point = weight.detach().requires_grad_()
    assert torch.autograd.gradcheck(loss, point, fast_mode=True)
    assert torch.autograd.gradgradcheck(loss, point, fast_mode=True)


# Each task: its batches, losses and scores by hand.


def test_a_normalised_batch():
    """Images are normalised; real inputs and all targets are unchanged."""
    images = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1)
    labels, half = torch.tensor([0, 1]), torch.full((1, 1, 1), 0.5)
    data = Dataset("x", 2, images, labels, images, labels, mean=half, std=half)
    inputs, targets = normalised_batch(data, images, labels)
    assert inputs.flatten().tolist() == [-1, 1]
    assert targets is labels
    real = torch.ones(2, 3)
    assert normalised_batch(data, real, labels)[0] is real


def test_cross_entropy_accuracy_and_squared_error_by_hand():
    logits, targets = torch.tensor([[0.0, math.log(3)], [2.0, 2.0]]), torch.tensor([1, 1])
    task = TASKS["classification"]
    assert task.loss(logits, targets).tolist() == pytest.approx([math.log(4 / 3), math.log(2)])
    assert task.score(logits, targets).tolist() == [True, False]
    assert task.labelled
    outputs, targets = torch.tensor([[[1.0, 2], [0, 0]], [[0, 0], [3, 0]]])
    assert TASKS["regression"].loss(outputs, targets).tolist() == [2.5, 4.5]
    assert TASKS["regression"].score is None
    assert not TASKS["regression"].labelled


def test_next_characters_by_hand():
    """Logits 0, and one logit ln 3 of a right character: losses ln 2 and ln (4/3)."""
    characters = torch.tensor([[1, 0, 1], [0, 0, 0]])
    outputs = torch.zeros(2, 3, 2)
    outputs[1, 0, 0] = math.log(3)
    outputs[:, 2] = 1e3  # of a character after the last, which is not known
    actual = NEXT_CHARACTER.loss(outputs, characters).tolist()
    assert actual == pytest.approx([math.log(2), (math.log(4 / 3) + math.log(2)) / 2])
    characters = torch.tensor([[1, 0, 1], [0, 1, 1]])
    outputs = torch.eye(2)[torch.tensor([[0, 1, 0], [0, 0, 1]])]
    assert NEXT_CHARACTER.score(outputs, characters).tolist() == [1, 0]
    assert NEXT_CHARACTER.score(outputs[:1], torch.tensor([[1, 0, 0]])).tolist() == [0.5]


def test_negative_elbos_by_hand():
    """Two pixels, Bernoulli, latent size 1: −log p = −ln σ(0) − ln σ(ln 3), KL by its formula."""
    images = torch.tensor([[[[255, 255]]]], dtype=torch.uint8)
    logits = torch.tensor([[[[0.0, math.log(3)]]]])
    mean, log_variance = torch.tensor([[2.0]]), torch.tensor([[math.log(0.25)]])
    divergence = 0.5 * (2.0**2 + 0.25 - 1 - math.log(0.25))
    expected = math.log(2) + math.log(4 / 3) + divergence
    actual = TASKS["vae"].loss((logits, mean, log_variance), images)
    assert actual.tolist() == [pytest.approx(expected, rel=1e-6)]
    # Two colour values: one certain to 1/256 (flat logits), one with odds 3 : 1 · 255 others.
    images = torch.tensor([[[[7]], [[200]]]], dtype=torch.uint8)  # two channels of one pixel
    logits = torch.zeros(1, 256, 2, 1, 1)
    logits[0, 200, 1] = math.log(3 * 255)
    nothing = torch.zeros(1, 4)
    expected = math.log(256) + math.log(4 / 3)
    assert TASKS["vae"].loss((logits, nothing, nothing), images).item() == pytest.approx(expected)
