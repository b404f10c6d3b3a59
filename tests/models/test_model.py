"""The models of the package and of plugins: their parameters, layers and gradients."""

import math
import warnings
from functools import partial

import pytest
import torch
from cases import cases
from rates import check_rate
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from ngo.common.registries import MODELS, TASKS
from ngo.common.seeding import stream_seed, torch_stream
from ngo.data.dataset import Dataset
from ngo.engine.backends import Stacked
from ngo.engine.population import Population
from ngo.models.layers import VAE, ConvPoolReLU2d, Dropout, convolved_by_patches
from ngo.models.task import normalised_batch
from ngo.models.transformer import SCALE, CausalAttention, LoRALinear, Transformer, with_lora

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
    trained = (p.numel() for p in build(name).parameters() if p.requires_grad)
    assert sum(trained) == PARAMETERS[name]


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
    norm = torch.cat([p.grad.flatten() for p in plain.parameters() if p.requires_grad]).norm()
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
    assert torch.equal(model.decode(z)[:, 17, 2], model.decoder[:-1](z)[:, 3 * 17 + 2])


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


OPTIONS = [("bias", False), ("groups", 2), ("padding", 1), ("padding", "same"), ("stride", 2)]
OPTIONS += [("padding", "valid"), ("dilation", 2), ("dtype", torch.float64)]


def constant_vae(latent=2, log_variance=0.0, worker=1):
    """An autoencoder whose code does not depend on the image, and whose decoder returns it."""
    encoder = nn.Linear(3, 2 * latent)
    nn.init.zeros_(encoder.weight)
    with torch.no_grad():
        encoder.bias[:latent] = 5
        encoder.bias[latent:] = log_variance
    return VAE(encoder, nn.Identity(), latent, torch_stream(0, "dropout", worker))


def test_codes_have_their_mean_and_variance_and_in_evaluation_the_same_noise():
    code, mean, log_variance = constant_vae(log_variance=2.0)(torch.zeros(5_000, 3))
    assert mean.eq(5).all()
    assert log_variance.eq(2).all()
    assert code.mean().item() == pytest.approx(5, abs=0.1)
    assert code.var().item() == pytest.approx(7.389, rel=0.05)  # e²
    x = torch.zeros(4, 3)
    first, other = constant_vae(worker=1).eval(), constant_vae(worker=2).eval()
    code = first(x)[0]
    assert torch.equal(code, other(x)[0])
    assert torch.equal(code, first(x)[0])
    assert torch.equal(code, 5 + torch.randn(4, 2, generator=torch_stream(0, "elbo")))


@pytest.mark.parametrize("name", ["mnist_cnn", "mnist_vae", "cifar10_vae"])
def test_nothing_draws_from_torchs_global_stream(name):
    model = MODELS[name].build(torch_stream(0, "dropout", 0))
    x = torch.zeros(2, *MODELS[name].input_shape)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    model.train()(x)
    model.eval()(x)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(("probability", "shape"), [(0.1, (4000, 1000)), (0.5, (1000, 1000, 1))])
def test_dropout_drops_at_its_rate(probability, shape):
    assert Dropout(torch_stream(0, "one"), probability)(torch.tensor(0.0)) == 0
    out = Dropout(torch_stream(0, "rate"), probability, channels=len(shape) > 2)(torch.ones(shape))
    assert set(out.unique().tolist()) == {0, torch.tensor(1 / (1 - probability)).item()}
    check_rate(int((out == 0).sum()), out.numel(), probability)


def seeded(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make()


def test_lora_factors_alone_are_parameters_and_frozen_weights_those_of_all_workers():
    linear = seeded(lambda: nn.Linear(3, 2))
    layer, x = LoRALinear(linear, 1), torch.ones(4, 3)
    assert torch.equal(layer(x), linear(x))
    with torch.no_grad():
        layer.A.copy_(torch.tensor([[1.0, 2, 3]]))
        layer.B.copy_(torch.tensor([[1.0], [-1]]))
    assert torch.allclose(layer(x) - linear(x), SCALE * torch.tensor([6.0, -6]))

    # All other parameters are frozen, with the same values and names.
    def make():
        return nn.Sequential(nn.Embedding(5, 4), nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)))

    plain, changed = seeded(make), seeded(lambda: with_lora(make(), rank=2))
    shapes = {n: list(p.shape) for n, p in changed.named_parameters() if p.requires_grad}
    assert shapes == {"1.0.A": [2, 4], "1.0.B": [3, 2]}
    frozen = {n: p for n, p in changed.named_parameters() if not p.requires_grad}
    assert frozen.keys() == dict(plain.named_parameters()).keys()
    assert all(torch.equal(frozen[n], p) for n, p in plain.named_parameters())
    x = torch.tensor([[0, 4]])
    assert torch.equal(plain(x), changed(x))
    # Those of gpt_char_small, which they keep in training; also if factors are drawn by worker.
    population = Population("gpt_char_lora", 3, seed=1, initialization="by_worker")
    assert (population.buffers == population.buffers[0]).all()
    assert not (population.X[0] == population.X).all()
    plain = Population("gpt_char_small", 1, seed=1)
    characters = torch.randint(0, 8, (2, 32), generator=torch_stream(0, "text"))
    with torch.no_grad():
        for module in population.modules:  # all factors B are 0
            assert torch.allclose(module(characters), plain.modules[0](characters), atol=1e-6)


def of_torch(layer):
    """The same layer as torch modules with the same parameters."""
    names = ("kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")
    options = {name: getattr(layer, name) for name in names}
    options |= {"bias": layer.bias is not None, "dtype": layer.weight.dtype}
    convolution = nn.Conv2d(layer.in_channels, layer.out_channels, **options)
    convolution.load_state_dict(layer.state_dict())
    return nn.Sequential(convolution, nn.MaxPool2d(2), nn.ReLU())


def images(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch_stream(0, "test"), dtype=dtype)


def assert_like_torch(layer, x):
    """Outputs and all gradients equal torch's."""
    leaf = x.detach().requires_grad_()
    outcomes = []
    for module in (layer, of_torch(layer)):
        y = module(leaf)
        weights = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)
        gradients = torch.autograd.grad((weights * y).sum(), [leaf, *module.parameters()])
        outcomes.append([y, *gradients])
    for ours, theirs in zip(*outcomes, strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "value"), [*OPTIONS, ("padding_mode", "circular")])
def test_a_convolution_with_any_option_is_torchs(name, value):
    options = {name: value} | ({"padding": (1, 2)} if name == "padding_mode" else {})
    x = images(3, 4, 14, 13, dtype=options.get("dtype", torch.float32))
    assert_like_torch(ConvPoolReLU2d(4, 6, 3, **options), x)
    for size in (3, 5, (3, 5), 2, 7):
        assert_like_torch(ConvPoolReLU2d(2, 3, size), images(5, 2, 11, 12))


@cases(
    "x",
    images(0, 2, 8, 8),
    images(3, 2, 4, 4),  # one output
    images(3, 2, 4, 9),
    images(3, 2, 9, 9)[:, :, ::2, 1:],
    images(2, 8, 9, 3).permute(3, 0, 1, 2),
    images(2, 8, 9, 3).permute(3, 0, 2, 1),
    images(1, 2, 8, 8).expand(3, 2, 8, 8),
    images(2, 8, 8),
    ids=lambda x: f"{tuple(x.shape)}, strides {x.stride()}",
)
def test_a_convolution_of_any_images_is_torchs(x):
    assert_like_torch(ConvPoolReLU2d(2, 3, 3), x)


HOWS = [{}, {"padding": (2, 1)}, {"stride": (2, 3)}, {"stride": (2, 2), "padding": (1, 1)}]


@pytest.mark.parametrize("how", HOWS, ids=str)
@pytest.mark.parametrize(
    ("size", "shape"), [((3, 3), (2, 7, 9)), ((5, 5), (1, 8, 8)), ((1, 3), (2, 6, 7))]
)
def test_under_vmap_a_product_with_patches_is_the_convolution(size, shape, how):
    """Outputs and gradients, for many weights; vmap knows all its operations."""
    generator = torch_stream(0, "test")

    def numbers(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    given = numbers(3, 4, *shape), numbers(3, 6, shape[0], *size), numbers(3, 6)
    patches, convolution = (partial(f, **how) for f in (convolved_by_patches, F.conv2d))
    passes = [
        vmap(grad(lambda x, w, b, f=f: f(x, w, b).tanh().sum(), argnums=(0, 1, 2)))
        for f in (patches, convolution)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours, torchs = (one(*given) for one in passes)
        assert torch.allclose(vmap(patches)(*given), vmap(convolution)(*given))
    assert all(torch.allclose(a, b) for a, b in zip(ours, torchs, strict=True))
