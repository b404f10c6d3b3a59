"""The layers of modules whose own forward passes call them one after another."""

from __future__ import annotations

import dis
import operator
from collections.abc import Collection, Iterable
from types import CodeType, ModuleType
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional as F

from ngo.models.layers import unchanged


def _flatten(start_dim: int = 0, end_dim: int = -1) -> nn.Module:
    return nn.Flatten(start_dim, end_dim)


def _log_softmax(dim: int, _stacklevel: int = 3, dtype: None = None) -> nn.Module:
    return nn.LogSoftmax(dim)


#: What makes the layer that a call of a function or method stands for, of its other arguments.
CALLS: dict[Any, Any] = {
    call: layer
    for layer, *calls in (
        (nn.ReLU, F.relu, torch.relu, "relu"),
        (nn.Tanh, torch.tanh, "tanh"),
        (nn.Sigmoid, torch.sigmoid, "sigmoid"),
        (nn.LeakyReLU, F.leaky_relu),
        (nn.ELU, F.elu),
        (nn.ReLU6, F.relu6),
        (nn.SiLU, F.silu),
        (nn.GELU, F.gelu),
        (nn.MaxPool2d, F.max_pool2d, torch.max_pool2d),
        (nn.AvgPool2d, F.avg_pool2d),
        (nn.AdaptiveAvgPool2d, F.adaptive_avg_pool2d),
        (_flatten, torch.flatten, "flatten"),
        (_log_softmax, F.log_softmax, torch.log_softmax, "log_softmax"),
    )
    for call in calls
}
VIEWS = ("view", "reshape", torch.reshape)

#: What such a forward pass may name, beside layers, torch's modules and functions.
BUILTINS = {"enumerate", "len", "range"}
ATTRIBUTES = {"nn", "functional", "view", "reshape", "size", "shape", "max_pool2d"}
ATTRIBUTES |= {call if isinstance(call, str) else call.__name__ for call in CALLS}


def straight_layers(module: nn.Module, known: Collection[type]) -> list[nn.Module] | None:
    """The layers that the module's forward pass calls, of ``known`` types; None if it is another.

    Such a forward pass is the same at each call: its code names only layers, torch's functions and
    shapes, and sets no attribute. So it can't depend on ``training``, or on what it keeps.
    """
    try:
        if not all(map(unchanged, module.modules())):
            return None
        tracer = _Tracer(known)
        tracer.is_leaf_module(module, "")
        return list(_layers(module, tracer.trace(module).nodes))
    except Exception:  # by the user's code, whose inputs are no tensors here
        return None


class _Tracer(fx.Tracer):
    """Raises a TypeError at a module whose forward pass may be another at each call."""

    def __init__(self, known: Collection[type]) -> None:
        super().__init__()
        self._known = known

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        known = type(m) in self._known
        if not (known or type(m) is nn.Sequential or _is_constant(m)):
            raise TypeError(type(m))
        return known


def _is_constant(module: nn.Module) -> bool:
    """Whether the forward pass is the same at each call."""
    kind = type(module)
    code, outside = kind.forward.__code__, kind.forward.__globals__
    names = {part for name, _ in module.named_modules() for part in name.split(".")} | ATTRIBUTES
    values = [(name, x) for each in module.modules() for name, x in vars(each).items()]
    names |= {name for name, x in values if _is_known(x)}
    names -= {name for name, x in values if not _is_known(x)}  # these are no layers, nor methods
    names -= {name for each in module.modules() for name in dir(type(each))}

    def fits(step: dis.Instruction) -> bool:
        name = step.argval
        if step.opname != "LOAD_GLOBAL":
            return name in names and step.opname in ("LOAD_ATTR", "LOAD_METHOD")
        given = outside.get(name)
        of_torch = isinstance(given, ModuleType) and given.__name__.split(".")[0] == "torch"
        return of_torch or _is_known(given) or (name in BUILTINS and name not in outside)

    return (
        not code.co_freevars
        and not any(isinstance(constant, CodeType) for constant in code.co_consts)
        and all(fits(step) for step in dis.get_instructions(code) if step.opcode in dis.hasname)
    )


def _is_known(value: Any) -> bool:
    """Whether this is a function of torch that stands for a layer."""
    return callable(value) and value in CALLS


def _layers(module: nn.Module, nodes: Iterable[Any]) -> Iterable[nn.Module]:
    """The layers of a graph, of which each takes the output of the one before; or a ValueError."""
    last, *between, output = nodes
    batch: set[Any] = {-1}  # what stands for the number of samples
    shapes = set()
    for node in between:
        (x, *more), options, target = node.args, node.kwargs, node.target
        if not options and (
            (target == "size" and not more) or (target is getattr and more == ["shape"])
        ):
            shapes.add(node)
            continue
        if more == [0] and (target == "size" or (target is operator.getitem and x in shapes)):
            batch.add(node)
            continue
        if x is not last or (node.op == "call_module" and (more or options)):
            raise ValueError(node)
        last = node
        if target in VIEWS:
            samples, *sizes = more[0] if isinstance(more[0], tuple | list) else more
            if samples not in batch:
                raise ValueError(node)
            yield nn.Flatten()
            if sizes != [-1]:
                yield nn.Unflatten(1, sizes)
        elif node.op == "call_module":
            yield module.get_submodule(target)
        else:
            yield CALLS[target](*more, **options)
    if output.args != (last,):
        raise ValueError(output)
