import torch
from model_cases import build, samples, shapes


def test_it_differs_from_the_supplements_in_the_codes_alone():
    model, paper = build("mnist_vae_20"), build("mnist_vae")
    assert shapes(model.encoder, samples("mnist_vae_20", 2)) == [(784,), (512,), (256,), (40,)]
    assert model.latent == 20
    assert shapes(model.decoder, torch.zeros(2, 20)) == [(256,), (512,), (784,), (1, 28, 28)]
    assert [type(layer) for layer in model.encoder] == [type(layer) for layer in paper.encoder]
    assert [type(layer) for layer in model.decoder] == [type(layer) for layer in paper.decoder]
