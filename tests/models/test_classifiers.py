import torch
from model_cases import build, samples, shapes
from torch import nn


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


def test_cifar100_cnn_is_that_of_cifar10_with_100_outputs():
    ours = shapes(build("cifar100_cnn"), samples("cifar100_cnn", 2))
    assert ours == [*shapes(build("cifar10_cnn"), samples("cifar10_cnn", 2))[:-1], (100,)]


def test_resnet18_keeps_running_statistics():
    model = build("resnet18")
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert len(norms) == 20
    assert norms[0].running_mean.eq(0).all()
    model(samples("resnet18", 2))
    assert norms[0].running_mean.ne(0).all()
