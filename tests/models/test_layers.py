"""Layers: dropout, codes, LoRA, and convolutions with pooling."""

import warnings

import pytest
import torch
from cases import cases
from rates import check_rate
from torch import nn
from torch.func import grad, vmap
from torch.nn import functional as F

from ngo.common.registries import MODELS
from ngo.common.seeding import torch_stream
from ngo.engine.population import Population
from ngo.models.layers import VAE, ConvPoolReLU2d, Dropout, convolved_by_patches
from ngo.models.transformer import SCALE, LoRALinear, with_lora

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
    layer = Dropout(torch_stream(0, "rate"), probability, channels=len(shape) > 2)
    out = layer(torch.ones(shape))
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

    # All other parameters are buffers of the same values and names.
    def make():
        return nn.Sequential(nn.Embedding(5, 4), nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)))

    plain, changed = seeded(make), seeded(lambda: with_lora(make(), rank=2))
    shapes = {n: list(p.shape) for n, p in changed.named_parameters()}
    assert shapes == {"1.0.A": [2, 4], "1.0.B": [3, 2]}
    frozen = dict(changed.named_buffers())
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


@pytest.mark.parametrize(("size", "shape"), [(3, (2, 7, 9)), (5, (1, 8, 8))])
def test_under_vmap_a_product_with_patches_is_the_convolution(size, shape):
    """Outputs and gradients, for many weights; vmap knows all its operations."""
    generator = torch_stream(0, "test")

    def numbers(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    given = numbers(3, 4, *shape), numbers(3, 6, shape[0], size, size), numbers(3, 6)
    passes = [
        vmap(grad(lambda x, w, b, f=f: f(x, w, b).tanh().sum(), argnums=(0, 1, 2)))
        for f in (convolved_by_patches, F.conv2d)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours, torchs = (one(*given) for one in passes)
        assert torch.allclose(vmap(convolved_by_patches)(*given), vmap(F.conv2d)(*given))
    assert all(torch.allclose(a, b) for a, b in zip(ours, torchs, strict=True))
