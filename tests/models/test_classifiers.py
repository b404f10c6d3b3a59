import torch
from model_cases import build, samples, shapes


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
