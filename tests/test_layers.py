import pytest
import torch
from torch import nn

from ngo import layers
from ngo.layers import VAE, ConvPoolReLU2d, Dropout
from ngo.models import MODELS
from ngo.seeding import torch_stream


def test_dropout_draws_from_its_own_generator():
    x = torch.ones(200, 50)
    first, again = (Dropout(torch_stream(0, "dropout", 1))(x) for _ in range(2))
    other = Dropout(torch_stream(0, "dropout", 2))(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert set(first.unique().tolist()) == {0, 2}  # kept entries make up for the dropped
    assert first.mean().item() == pytest.approx(1, abs=0.05)
    assert torch.equal(Dropout(torch_stream(0, "a")).eval()(x), x)


def test_dropout_of_channels_drops_whole_channels():
    x = torch.ones(8, 16, 5, 5)
    out = Dropout(torch_stream(0, "dropout", 1), channels=True)(x)
    assert (out == out[:, :, :1, :1]).all()
    assert {0, 2} == set(out.unique().tolist())


def test_dropouts_gradient_passes_where_it_kept():
    x = torch.ones(4, 10, requires_grad=True)
    out = nn.Sequential(Dropout(torch_stream(0, "dropout", 1), 0.25))(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def constant_vae(latent=2, log_variance=0.0, worker=1):
    """An autoencoder whose code is all noise, which its decoder hands on."""
    encoder = nn.Linear(3, 2 * latent)
    nn.init.zeros_(encoder.weight)
    with torch.no_grad():
        encoder.bias[:latent] = 5
        encoder.bias[latent:] = log_variance
    return VAE(encoder, nn.Identity(), latent, torch_stream(0, "dropout", worker))


def test_codes_have_the_mean_and_the_variance_that_they_are_given():
    code, mean, log_variance = constant_vae(log_variance=2.0)(torch.zeros(5_000, 3))
    assert mean.eq(5).all()
    assert log_variance.eq(2).all()
    assert code.mean().item() == pytest.approx(5, abs=0.1)
    assert code.var().item() == pytest.approx(7.389, rel=0.05)  # e²


def test_in_training_codes_draw_from_their_own_generator():
    x = torch.zeros(4, 3)
    first, again, other = (constant_vae(worker=worker) for worker in (1, 1, 2))
    code = first(x)[0]
    assert torch.equal(code, again(x)[0])
    assert not torch.equal(code, other(x)[0])
    assert not torch.equal(code, first(x)[0])


def test_in_evaluation_all_codes_have_the_same_noise():
    x = torch.zeros(4, 3)
    first, other = constant_vae(worker=1).eval(), constant_vae(worker=2).eval()
    code = first(x)[0]
    assert torch.equal(code, other(x)[0])
    assert torch.equal(code, first(x)[0])
    assert torch.equal(code, 5 + torch.randn(4, 2, generator=torch_stream(0, "elbo")))


def test_evaluation_takes_nothing_from_the_workers_generator():
    x = torch.zeros(4, 3)
    evaluated, untouched = constant_vae(), constant_vae()
    evaluated.eval()(x)
    assert torch.equal(evaluated.train()(x)[0], untouched(x)[0])


def test_gradients_reach_the_encoder_through_the_code():
    model = constant_vae(log_variance=0.5)
    code, mean, _ = model(torch.ones(1, 3))
    code.sum().backward()
    by_mean, by_log_variance = model.encoder.bias.grad.view(2, 2)
    assert torch.equal(by_mean, torch.ones(2))
    assert torch.allclose(by_log_variance, (code - mean)[0].detach() / 2)


@pytest.mark.parametrize("name", ["mnist_cnn", "mnist_vae", "cifar10_vae"])
def test_nothing_draws_from_torchs_global_stream(name):
    model = MODELS[name].build(torch_stream(0, "dropout", 0))
    x = torch.zeros(2, *MODELS[name].input_shape)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    model.train()(x)
    model.eval()(x)
    assert torch.equal(torch.get_rng_state(), state)


def of_torch(layer):
    """The same, of torch's own modules, and with the same parameters."""
    options = ("stride", "padding", "dilation", "groups", "padding_mode")
    convolution = nn.Conv2d(
        layer.in_channels,
        layer.out_channels,
        layer.kernel_size,
        bias=layer.bias is not None,
        dtype=layer.weight.dtype,
        **{name: getattr(layer, name) for name in options},
    )
    convolution.load_state_dict(layer.state_dict())
    return nn.Sequential(convolution, nn.MaxPool2d(2), nn.ReLU())


def images(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch_stream(0, "test"), dtype=dtype)


def assert_like_torch(layer, x):
    """Outputs and all slopes; x is a leaf, or what another one is made of."""
    leaf = x.detach().requires_grad_()
    outcomes = []
    for module in (layer, of_torch(layer)):
        y = module(leaf)
        weights = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)
        slopes = torch.autograd.grad((weights * y).sum(), [leaf, *module.parameters()])
        outcomes.append([y, *slopes])
    for ours, theirs in zip(*outcomes, strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"bias": False},
        {"groups": 2},
        {"padding": 1},
        {"padding": "same"},
        {"padding": "valid"},
        {"padding": (1, 2), "padding_mode": "circular"},
        {"stride": 2},
        {"dilation": 2},
        {"dtype": torch.float64},
    ],
    ids=str,
)
def test_a_convolution_with_any_option_is_torchs(options):
    x = images(3, 4, 14, 13, dtype=options.get("dtype", torch.float32))
    assert_like_torch(ConvPoolReLU2d(4, 6, 3, **options), x)


@pytest.mark.parametrize("size", [3, 5, (3, 5), 2, 7])
def test_a_convolution_of_any_kernel_size_is_torchs(size):
    assert_like_torch(ConvPoolReLU2d(2, 3, size), images(5, 2, 11, 12))


@pytest.mark.parametrize(
    "x",
    [
        images(0, 2, 8, 8),
        images(3, 2, 4, 4),  # one pool
        images(3, 2, 4, 9),
        images(3, 2, 9, 9)[:, :, ::2, 1:],
        images(2, 8, 9, 3).permute(3, 0, 1, 2),
        images(2, 8, 9, 3).permute(3, 0, 2, 1),
        images(1, 2, 8, 8).expand(3, 2, 8, 8),
        images(2, 8, 8),
    ],
    ids=lambda x: f"{tuple(x.shape)}, strides {x.stride()}",
)
def test_a_convolution_of_any_images_is_torchs(x):
    assert_like_torch(ConvPoolReLU2d(2, 3, 3), x)


@pytest.mark.parametrize(
    "x",
    [
        images(3, 1, 8, 8),
        images(3, 4, 8, 8),
        images(3, 2, 2, 8),
        images(3, 2, 3, 3),  # nothing to pool
        images(3, 2, 8, 8, dtype=torch.float64),
        images(8, 8),
    ],
    ids=lambda x: f"{tuple(x.shape)}, {x.dtype}",
)
def test_images_that_torch_refuses_are_refused(x):
    layer = ConvPoolReLU2d(2, 3, 3)
    with pytest.raises(RuntimeError) as expected:
        of_torch(layer)(x)
    with pytest.raises(RuntimeError) as told:
        layer(x)
    assert str(told.value) == str(expected.value)


def test_groups_are_not_taken_for_fewer_channels():
    with pytest.raises(RuntimeError, match="channels"):
        ConvPoolReLU2d(4, 4, 3, groups=2)(images(3, 2, 8, 8))


def test_slopes_reach_the_input_alone_and_any_of_the_parameters():
    for wanted in ((True, False, False), (False, True, False), (False, False, True)):
        layer, x = ConvPoolReLU2d(2, 3, 3), images(3, 2, 8, 8)
        torchs = of_torch(layer)
        slopes = []
        for module, image in ((layer, x.clone()), (torchs, x.clone())):
            tensors = [image, *module.parameters()]
            for tensor, needed in zip(tensors, wanted, strict=True):
                tensor.requires_grad_(needed)
            module(image).sum().backward()
            slopes.append([tensor.grad for tensor in tensors])
        for ours, theirs, needed in zip(*slopes, wanted, strict=True):
            assert (ours is not None) == (theirs is not None) == needed
            assert not needed or torch.allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("batch_last", [False, True])
@pytest.mark.parametrize("what", ["input", "weight"])
def test_a_change_in_place_before_backward_is_seen(batch_last, what):
    """Whether or not the kernels took a copy of it."""
    x = images(3, 2, 8, 8).requires_grad_()
    image = (layers._batch_last(x).movedim(-1, 0) if batch_last else x) * 1
    layer = ConvPoolReLU2d(2, 3, 3)
    y = layer(image)
    with torch.no_grad():
        (image if what == "input" else layer.weight).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_second_derivatives_are_torchs():
    """Of a penalty on slopes, which with the loss itself is one sum."""
    layer, x = ConvPoolReLU2d(2, 3, 3), images(3, 2, 8, 8).requires_grad_()
    found = []
    for module in (layer, of_torch(layer)):
        loss = module(x).pow(3).sum()
        (slope,) = torch.autograd.grad(loss, x, create_graph=True)
        total = loss + slope.square().sum()
        found.append(torch.autograd.grad(total, [x, *module.parameters()]))
    for ours, theirs in zip(*found, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-3, atol=1e-3)
