import torch
from model_cases import build, samples, shapes


def test_mnist_cnn_is_the_supplements():
    model = build("mnist_cnn")
    assert [tuple(p.shape) for p in model.parameters()] == [
        (10, 1, 5, 5), (10,), (20, 10, 5, 5), (20,), (50, 320), (50,), (10, 50), (10,),
    ]  # fmt: skip
    assert torch.allclose(model.eval()(samples("mnist_cnn", 3)).exp().sum(1), torch.ones(3))


def test_mnist_vae_is_the_supplements():
    model = build("mnist_vae")
    assert shapes(model.encoder, samples("mnist_vae", 2)) == [(784,), (512,), (256,), (4,)]
    assert model.latent == 2
    assert shapes(model.decoder, torch.zeros(2, 2)) == [(256,), (512,), (784,), (1, 28, 28)]
