import torch
from model_cases import build, samples, shapes
from torch import nn

from ngo.common.seeding import torch_stream


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
