"""What computes differently has different digests; the same code and values have one."""

import importlib
import os
import sys
from subprocess import check_output

import torch
from torch import nn

from ngo.training.object_digest import ObjectDigest

FACTOR = 1.0
# A cell of a notebook, with functions of many kinds.
CELL = """
import functools, enum, operator, random
import numpy as np, torch
from torch import nn
from torch.nn import functional as F
BY = 2.0
Kind = enum.Enum("Kind", ["A", "B"])
def recursive(out, y, n=2): return recursive(out, y, n - 1) if n else BY * F.cross_entropy(out, y)
def one(out, y): return other(out, y)
def other(out, y): return one(out, y) if BY < 0 else F.cross_entropy(out, y)
def among(out, y): return out if "a" in {"a", "b", "c"} else y
@functools.lru_cache
def cached(x): return x
@torch.no_grad()
def decorated(out, y): return BY * F.cross_entropy(out, y)
def importing(out, y):
    import math
    return math.e * F.cross_entropy(out, y) * cached(1)
class Net(nn.Linear):
    names = {"a", "b", "c"}
    @property
    def half(self): return self.bias / 2
    def forward(self, x): return super().forward(x) * self.half
class Loss:
    __slots__ = ("kind",)
    def __init__(self): self.kind = Kind.A
    def __call__(self, out, y): return F.cross_entropy(out, y)
    @classmethod
    def named(cls, out, y): return cls()(out, y)
    @staticmethod
    def plain(out, y): return F.cross_entropy(out, y)
torch.manual_seed(0)
values = [
    lambda out, y: F.cross_entropy(out, y), F.cross_entropy, torch.add, np.add,
    operator.itemgetter(1),
    functools.partial(F.cross_entropy, label_smoothing=BY), nn.CrossEntropyLoss(torch.ones(4)),
    recursive, one, other, among, cached, decorated, importing, Net(3, 4), Net,
    Loss(), Loss().named, Loss.plain, Loss().__call__,
    {"a": (1, 2.0)}, {"c", "d", "e"}, np.arange(3), np.float32(1),
    np.random.default_rng(0), random.Random(0), torch.Generator().manual_seed(0), torch.float32,
]
"""


def module_digest(module):
    return ObjectDigest(module.eval()).text[:8]


def net(activation=nn.ReLU, width=5, dropout=0.5):
    torch.manual_seed(0)
    first, last = nn.Linear(3, width), nn.Linear(width, 4)
    return nn.Sequential(first, activation(), nn.Dropout(dropout), last)


class One(nn.Linear):
    def forward(self, x):
        return super().forward(x).relu()


class Choice(nn.Linear):
    def __init__(self, act):
        super().__init__(3, 4)
        self.act = act

    def forward(self, x):
        return self.act(super().forward(x))


def seeded(make, *arguments):
    torch.manual_seed(0)
    return make(*arguments)


def changed(change):
    module = net()
    change(module)
    return module


class ReadsGlobal(nn.Linear):
    def forward(self, x):
        return FACTOR * super().forward(x)


def tied(same):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    for name, value in module[0].named_parameters():
        setattr(module[1], name, value if same else nn.Parameter(value.detach().clone()))
    return module


DIFFERENT = {
    "layers": net(nn.Tanh),
    "a setting": net(dropout=0.2),
    "a weight": changed(lambda module: module[0].weight.data[0, 0].add_(1e-3)),
    "frozen": changed(lambda module: module[0].weight.requires_grad_(False)),
    "code": seeded(type("Net", (One,), {}), 3, 4),
    "other code": seeded(type("Net", (nn.Linear,), {}), 3, 4),
    "a function": seeded(Choice, lambda x: x.relu()),
    "a closure": seeded(Choice, (lambda by: lambda x: by * x)(1.0)),
    "another closure": seeded(Choice, (lambda by: lambda x: by * x)(2.0)),
    "one tensor under two names": tied(same=True),
    "two equal tensors": tied(same=False),
    "an attribute": changed(lambda module: setattr(module, "heads", 2)),
}


def test_what_trains_differently_differs(monkeypatch):
    digests = {name: module_digest(each) for name, each in {"": net(), **DIFFERENT}.items()}
    assert len(set(digests.values())) == len(digests), digests
    module = ReadsGlobal(3, 4)
    before = module_digest(module)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 2.0)
    assert module_digest(module) != before


def digest(value):
    found = ObjectDigest(value)
    assert found.unknown is None
    return found.text


def cell_digests():
    space = {"__name__": "__main__"}
    exec(CELL, space)
    return [digest(value) for value in space["values"]]


def test_the_same_script_has_the_same_functions_in_another_process():
    code = f"import sys; sys.path[:0] = {sys.path}\n"
    code += "from test_object_digest import cell_digests; print(*cell_digests())"
    env = {**os.environ, "PYTHONHASHSEED": "1"}
    found = check_output([sys.executable, "-c", code], env=env, cwd=os.path.dirname(__file__))
    again = cell_digests()  # as of a cell that is run twice
    assert found.decode().split() == cell_digests() == again
    assert len({*again}) == len(again) - 1  # the lambda and Loss.plain have the same code


def test_a_module_of_the_users_own_counts_by_its_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def found(text):
        (tmp_path / "own_losses_of_a_test.py").write_text(text)
        importlib.invalidate_caches()
        sys.modules.pop("own_losses_of_a_test", None)
        space = {"helpers": importlib.import_module("own_losses_of_a_test")}
        exec("f = lambda out, y: helpers.mine(out, y)", space)
        return digest(space["f"])

    one, other = ("def mine(out, y): return (out - y)\n" + comment for comment in ("", "BY = 2"))
    assert found(one) == found(one) != found(other)
