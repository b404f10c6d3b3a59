import math

import numpy as np
import pytest
import torch
from own_modules import CLASSES, PAIR, X, line, numbers, prepared, told
from torch import nn
from torch.nn import functional as F

from ngo.models import layers
from ngo.training.own import like, own_dataset, own_task, template


def test_tensors_and_arrays_become_the_same_data_set():
    data, source = own_dataset(PAIR, (X[:2], CLASSES[:2]), "cpu")
    arrays, _ = own_dataset(
        (X.numpy(), CLASSES.numpy()), [X[:2].numpy(), CLASSES[:2].numpy()], "cpu"
    )
    assert torch.equal(arrays.train_inputs, data.train_inputs)
    assert torch.equal(arrays.test_targets, data.test_targets)
    assert (source.train_samples, source.input_shape, source.classes) == (8, (3,), 4)
    assert data.classes == 4


@pytest.mark.parametrize(
    ("train", "parts"),
    [
        (X, ["train: a Tensor is not a pair (inputs, targets)"]),
        ((X,), ["train: a tuple is not a pair"]),
        ((X.tolist(), CLASSES), ["train inputs: a list is not allowed", "tensor or a NumPy array"]),
        ((np.array(["a"]), CLASSES), ["train inputs: <U1 is not allowed"]),
        ((X.double(), CLASSES), ["train inputs: float64 is not allowed", ".float()", "float32"]),
        ((X, torch.tensor(1)), ["train targets: a single number", "a row per sample"]),
        ((X, CLASSES[:7]), ["train: there are 8 inputs and 7 targets", "equal"]),
        ((X[:0], CLASSES[:0]), ["train: there are 0 inputs", "at least 1"]),
        ((X[:, :2], CLASSES), ["test inputs: each is float32 of shape [3]", "shape [2]"]),
        ((X, CLASSES.float()), ["test targets: each is int64 of shape []", "float32"]),
    ],
)
def test_wrong_data_is_refused_in_a_line(train, parts):
    with line(*parts):
        own_dataset(train, PAIR, "cpu")


@pytest.mark.parametrize(
    ("targets", "part"),
    [
        (CLASSES - 1, "-1 is not a class"),
        (CLASSES.int(), "each is int32 of shape []"),
        (CLASSES[:, None], "each is int64 of shape [1]"),
        (CLASSES.bool(), "each is bool"),
    ],
)
def test_wrong_targets_are_refused_in_a_line(targets, part):
    with line("targets: ", part):
        own_dataset((X, targets), (X, targets), "cpu")


def test_a_template_is_a_copy_under_the_seed():
    module = nn.Linear(3, 4)
    assert torch.equal(template(module, 0).weight, module.weight)
    assert template(module, 0) is not module
    assert template(lambda: module, 0) is not module
    before = torch.get_rng_state()
    first, same, other = (template(lambda: nn.Linear(3, 4), seed).weight for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)


def not_copied():
    module = nn.Linear(3, 4)
    module.last = module.weight * 2  # deepcopy refuses tensors inside a graph
    return module


def float64_buffer():
    module = nn.BatchNorm1d(3)
    module.running_mean = module.running_mean.double()
    return module


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("net", "a str is not allowed; it must be a torch.nn.Module or a function"),
        (lambda: None, "a NoneType is not allowed"),
        (nn.Linear, "its function failed: Linear.__init__() missing 2 required"),
        (nn.ReLU(), "no parameters to train"),
        (nn.Linear(3, 4).requires_grad_(False), "no parameters to train"),
        (nn.LazyLinear(4), "lazy parameters"),
        (nn.Linear(3, 4).double(), "are float64; they must be float32: module.float()"),
        (float64_buffer, "are float32, float64; they must be float32"),
        (not_copied, "it can't be copied"),
    ],
)
def test_modules_that_cannot_be_trained_are_refused_in_a_line(module, part):
    with line("module: ", part):
        template(module, 0)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)])
def test_the_squared_error_is_a_sample_s_mean(shape):
    data, _ = own_dataset(numbers(*shape), numbers(*shape), "cpu")
    name, task = own_task(data, None)
    outputs = torch.randn_like(data.train_targets)
    expected = [float(F.mse_loss(a, b)) for a, b in zip(outputs, data.train_targets, strict=True)]
    assert task.loss(outputs, data.train_targets).tolist() == pytest.approx(expected)
    assert (name, task.score) == ("regression", None)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_a_loss_is_a_mean_or_one_per_sample(reduction):
    data, _ = own_dataset(PAIR, PAIR, "cpu")
    for loss in (nn.CrossEntropyLoss(reduction=reduction), None):
        task = own_task(data, loss)[1]
        losses = task.loss(torch.eye(4)[CLASSES.flip(0)], CLASSES)
        assert losses.shape == (8,)
        assert float(losses.mean()) == pytest.approx(1.7436683)


def built(module, generator=None):
    return prepared(module)[0].build(generator or torch.Generator())


def test_every_dropout_layer_draws_from_the_generator():
    shared = nn.Dropout(0.2)
    module = nn.Sequential(shared, nn.Linear(3, 4), nn.ModuleList([shared, nn.Dropout2d(0.3)]))
    generator = torch.Generator()
    found = [each for each in built(module, generator).modules() if hasattr(each, "generator")]
    assert [type(each) for each in found] == [layers.Dropout] * 2
    assert all(each.generator is generator for each in found)
    assert [(each.p, each.channels) for each in found] == [(0.2, False), (0.3, True)]
    assert not any(isinstance(each, nn.Dropout) for each in built(module).modules())
    assert type(module[0]) is nn.Dropout


def test_frozen_parameters_become_buffers():
    module = nn.Sequential(nn.Linear(3, 3).requires_grad_(False), nn.Linear(3, 4))
    made = built(module)
    assert [name for name, _ in made.named_parameters()] == ["1.weight", "1.bias"]
    assert list(made.state_dict()) == list(module.state_dict())
    assert torch.equal(made(X), module(X))
    assert len(list(module.parameters())) == 4


def test_a_module_like_the_template_has_the_trained_values():
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout())
    module[0].bias.requires_grad_(False)
    own = template(module, 0)
    trained = prepared(own)[0].build(torch.Generator())
    trained[0].weight.data.add_(1)
    trained[1].running_var.mul_(2)
    found = like(own, trained)
    assert torch.equal(found[0].weight, module[0].weight + 1)
    assert torch.equal(found[1].running_var, 2 * module[1].running_var)
    assert (found.training, type(found[2])) == (False, nn.Dropout)
    assert [p.requires_grad for p in found.parameters()] == [True, False, True, True]
    trained[0].weight.data.zero_()
    assert torch.equal(found[0].weight, module[0].weight + 1)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_initial_parameters_that_are_not_finite_are_named(value):
    module = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4))
    nn.init.constant_(module[1].bias, value)
    text = "module: its parameter '1.bias' has initial values that are NaN or inf."
    assert told(module=module) == text
