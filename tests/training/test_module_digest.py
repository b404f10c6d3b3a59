"""Modules that train differently have different digests."""

import copy

import pytest
import torch
from own_modules import quick
from torch import nn
from torch.nn import functional as F

from ngo.training.module_digest import module_digest


def net(activation=nn.ReLU, width=5, dropout=0.5):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(3, width), activation(), nn.Dropout(dropout), nn.Linear(width, 4)
    )


class One(nn.Linear):
    def forward(self, x):
        return super().forward(x).relu()


class Other(nn.Linear):
    def forward(self, x):
        return super().forward(x).tanh()


class Choice(nn.Linear):
    def __init__(self, act):
        super().__init__(3, 4)
        self.act = act

    def forward(self, x):
        return self.act(super().forward(x))


def same_name(cls):
    torch.manual_seed(0)
    made = type("Net", (cls,), {})(3, 4)
    return made


def changed(change):
    module = net()
    change(module)
    return module


def chosen(act):
    torch.manual_seed(0)
    return Choice(act)


DIFFERENT = {
    "layers": net(nn.Tanh),
    "sizes": net(width=6),
    "a setting": net(dropout=0.2),
    "a weight": changed(lambda module: module[0].weight.data[0, 0].add_(1e-3)),
    "frozen": changed(lambda module: module[0].weight.requires_grad_(False)),
    "code": same_name(One),
    "other code": same_name(Other),
    "a function": chosen(lambda x: x.relu()),
    "another function": chosen(lambda x: F.elu(x)),
    "an attribute": changed(lambda module: setattr(module, "heads", 2)),
}


def test_what_trains_differently_differs():
    digests = {name: module_digest(each) for name, each in {"": net(), **DIFFERENT}.items()}
    assert len(set(digests.values())) == len(digests), digests


@pytest.mark.parametrize("name", DIFFERENT)
def test_copies_are_equal_in_both_modes(name):
    module = DIFFERENT[name]
    assert module_digest(module) == module_digest(copy.deepcopy(module).eval())
    assert len(module_digest(module)) == 8


def test_the_id_of_a_run_depends_on_the_module():
    first, same, other = (quick(module) for module in (net(), net(), net(width=6)))
    assert first.spec.id == same.spec.id != other.spec.id
    assert first.spec.model == other.spec.model == "Sequential"
    for run, module in ((first, net()), (other, net(width=6))):
        assert set(run.metrics["run"]) == {run.spec.id}
        assert set(run.metrics["module"]) == {module_digest(module)}


def test_a_function_makes_another_module_under_each_seed():
    one, two = (quick(lambda: nn.Linear(3, 4), seed=seed).metrics["module"][0] for seed in (0, 1))
    assert one != two
