from model_cases import build, samples
from torch import nn


def test_resnet18_keeps_running_statistics():
    model = build("resnet18")
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert len(norms) == 20
    assert norms[0].running_mean.eq(0).all()
    model(samples("resnet18", 2))
    assert norms[0].running_mean.ne(0).all()
