import pytest
import torch

from ngo.bench.plain_torch import in_turn, in_turn_on_one_thread, one_model, plain_model
from ngo.common.seeding import torch_stream
from ngo.models.conv_pool import ConvPoolReLU2d
from ngo.models.model import MODELS


@pytest.mark.parametrize("name", ["mnist_cnn", "cifar10_cnn", "resnet18"])
def test_plain_models_have_torchs_layers_and_the_same_size(name):
    plain, own = plain_model(name, "cpu"), MODELS[name].build(torch_stream(0, "x"))
    assert not any(isinstance(module, ConvPoolReLU2d) for module in plain.modules())
    count = [sum(p.numel() for p in module.parameters()) for module in (plain, own)]
    assert count[0] == count[1]


@pytest.mark.parametrize("prepare", [one_model, in_turn, in_turn_on_one_thread])
def test_baselines_have_no_measured_part(prepare):
    threads = torch.get_num_threads()
    try:
        assert prepare(model="mnist_fc", n=2, b=3, device="cpu")() == 0
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize(("prepare", "models"), [(one_model, 1), (in_turn, 3)])
def test_baselines_train_on_all_samples(prepare, models, monkeypatch):
    built, sizes = [], []

    def build(model, device):
        module = plain_model(model, device)
        module.register_forward_pre_hook(lambda _, inputs: sizes.append(len(inputs[0])))
        built.append(module)
        return module

    monkeypatch.setattr("ngo.bench.plain_torch.plain_model", build)
    step = prepare(model="mnist_fc", n=3, b=2, device="cpu")
    before = [[p.clone() for p in module.parameters()] for module in built]
    step()
    assert len(built) == models
    assert sum(sizes) == 6
    for module, start in zip(built, before, strict=True):
        assert not all(map(torch.equal, module.parameters(), start))
