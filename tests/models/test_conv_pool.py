import pytest
import torch
from torch import nn

from ngo.common.seeding import torch_stream
from ngo.models.layers import ConvPoolReLU2d, to_batch_last


def of_torch(layer):
    """The same layer as torch modules with the same parameters."""
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
        images(3, 2, 4, 4),  # one output
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


def test_gradients_reach_the_input_alone_and_any_of_the_parameters():
    for wanted in ((True, False, False), (False, True, False), (False, False, True)):
        layer, x = ConvPoolReLU2d(2, 3, 3), images(3, 2, 8, 8)
        torchs = of_torch(layer)
        gradients = []
        for module, image in ((layer, x.clone()), (torchs, x.clone())):
            tensors = [image, *module.parameters()]
            for tensor, needed in zip(tensors, wanted, strict=True):
                tensor.requires_grad_(needed)
            module(image).sum().backward()
            gradients.append([tensor.grad for tensor in tensors])
        for ours, theirs, needed in zip(*gradients, wanted, strict=True):
            assert (ours is not None) == (theirs is not None) == needed
            assert not needed or torch.allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("batch_last", [False, True])
@pytest.mark.parametrize("what", ["input", "weight"])
def test_a_change_in_place_before_backward_is_seen(batch_last, what):
    """Both where the kernels use a copy and where they do not."""
    x = images(3, 2, 8, 8).requires_grad_()
    image = (to_batch_last(x).movedim(-1, 0) if batch_last else x) * 1
    layer = ConvPoolReLU2d(2, 3, 3)
    y = layer(image)
    with torch.no_grad():
        (image if what == "input" else layer.weight).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_second_derivatives_are_torchs():
    """Of the loss plus a penalty on its gradient."""
    layer, x = ConvPoolReLU2d(2, 3, 3), images(3, 2, 8, 8).requires_grad_()
    found = []
    for module in (layer, of_torch(layer)):
        loss = module(x).pow(3).sum()
        (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
        total = loss + gradient.square().sum()
        found.append(torch.autograd.grad(total, [x, *module.parameters()]))
    for ours, theirs in zip(*found, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-3, atol=1e-3)
