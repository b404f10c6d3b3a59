"""The layers of modules whose own forward passes call them one after another.

A forward pass is run on zeros, in training and in evaluation and with three numbers of samples,
and what it calls is recorded. It is such a row of layers if that is always the same, and if its
code names only layers, torch's functions and shapes, and sets and catches nothing: so it can't
depend on what it keeps. The code of a whole model may name numbers, too: no other code could change
them.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from types import CodeType, ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from ngo.models.layers import Dropout, Row, facts_of, of_torch, unchanged


def _of_dim(kind: type[Any]) -> Any:
    """What makes such a layer, of a function's arguments."""
    return lambda dim, _stacklevel=3, dtype=None: kind(dim)


#: What makes the layer that a call of a function or method stands for, of its other arguments.
CALLS: dict[Any, Any] = {
    call: layer
    for layer, *calls in (
        (nn.ReLU, F.relu, torch.relu, Tensor.relu),
        (nn.Tanh, torch.tanh, Tensor.tanh),
        (nn.Sigmoid, torch.sigmoid, Tensor.sigmoid),
        (nn.LeakyReLU, F.leaky_relu),
        (nn.ELU, F.elu),
        (nn.CELU, F.celu, torch.celu),
        (nn.SELU, F.selu, torch.selu),
        (nn.ReLU6, F.relu6),
        (nn.Hardtanh, F.hardtanh),
        (nn.Hardsigmoid, F.hardsigmoid),
        (nn.Hardswish, F.hardswish),
        (nn.Softplus, F.softplus),
        (nn.Mish, F.mish),
        (nn.SiLU, F.silu),
        (nn.GELU, F.gelu),
        (nn.MaxPool2d, F.max_pool2d),
        (nn.AvgPool2d, F.avg_pool2d),
        (nn.AdaptiveAvgPool2d, F.adaptive_avg_pool2d),
        (_of_dim(nn.Softmax), F.softmax, torch.softmax, Tensor.softmax),
        (_of_dim(nn.LogSoftmax), F.log_softmax, torch.log_softmax, Tensor.log_softmax),
    )
    for call in calls
}
#: Calls that may keep the order of each sample's numbers.
VIEWS = {
    *(Tensor.view, Tensor.reshape, torch.reshape, Tensor.flatten, torch.flatten),
    *(Tensor.squeeze, torch.squeeze, Tensor.unsqueeze, torch.unsqueeze, Tensor.contiguous),
}
#: Calls of dropout, and whether they drop channels.
DROPOUTS = {F.dropout: False, F.dropout2d: True}

#: Calls that return shapes, and numbers of dimensions.
_OF_TENSOR: Any = Tensor
SHAPES = {Tensor.size, _OF_TENSOR.shape.__get__}
DIMENSIONS = {Tensor.dim, _OF_TENSOR.ndim.__get__}

#: The types of what can't change by itself.
NUMBERS = (int, float, bool, str, type(None))

#: What such a forward pass may name, beside layers, torch's modules and functions.
BUILTINS = {"enumerate", "len", "range"}
ATTRIBUTES = {"nn", "functional", "size", "shape", "dim", "ndim", "training"}
ATTRIBUTES |= {call.__name__ for call in (*CALLS, *VIEWS, *DROPOUTS)}

#: What forward passes call, in order: the names of layers of the module, functions with their other
#: arguments, and shapes, into which a sample's numbers are viewed.
Calls = list[tuple[Any, ...]]

#: The calls of parts of a module, by name, with the shape of a sample of their input.
CallsOfParts = Mapping[str, tuple[Sequence[int], Calls]]


def with_rows(root: nn.Module, calls: CallsOfParts, generator: torch.Generator | None) -> None:
    """Let parts of the module with these ``calls`` know their layers.

    Functions of dropout become layers that draw from the generator; without it, they make no rows.
    """
    for name, (shape, of_part) in calls.items():
        part, drops = root.get_submodule(name), any(call[0] in DROPOUTS for call in of_part)
        if not drops or (generator and not isinstance(part, nn.Sequential | nn.ModuleList)):
            kind, layers = type(part), list(_layers(part, of_part, generator))
            if drops:
                own = {"forward": _forward, "__module__": kind.__module__}
                part.__class__ = type(kind.__name__, (kind,), own)
            vars(part)["row_of_layers"] = Row(shape, layers, [*facts_of(part)[:-1], True])


def _layers(part: nn.Module, calls: Calls, generator: Any) -> Iterator[nn.Module]:
    for number, (call, *more) in enumerate(calls):
        if isinstance(call, str):
            yield part.get_submodule(call)
        elif call in DROPOUTS:
            layer = Dropout(generator, *more, channels=DROPOUTS[call])
            part.add_module(f"dropout_call_{number}", layer.train(part.training))
            yield layer
        elif call in VIEWS:
            yield nn.Flatten(1 if more else 0)
            if len(more) > 1:
                yield nn.Unflatten(1, more)
        else:
            arguments, options = more
            yield CALLS[call](*arguments, **options)


def _forward(self: Any, x: Tensor) -> Tensor:
    """The forward pass of a row of layers."""
    row = self.row_of_layers
    if x.shape[1:] != row.shape or facts_of(self) != row.facts:
        return super(type(self), self).forward(x)
    for layer in row.layers:
        x = layer(x)
    return x


def calls_of(root: nn.Module, input_shape: Sequence[int], known: Collection[type]) -> CallsOfParts:
    """The calls of parts of the module that are rows of layers of ``known`` types.

    No part of a row has a row of its own. A copy of the module is called; it may draw from global
    random streams.
    """
    found: dict[str, tuple[Sequence[int], Calls]] = {}
    try:
        parts = {x: part for x, part in root.named_modules() if _is_constant(part, known, not x)}
        copied = deepcopy(root) if parts else root
    except Exception:  # of attributes that can't be hashed or copied
        return found
    shapes = {"": torch.Size(input_shape)}
    passed = [copied.get_submodule(name) for name in parts]
    for name in parts:
        if any(name.startswith(outer and f"{outer}.") for outer in found):
            continue
        if name and len(shapes) == 1:
            shapes |= _input_shapes(copied, input_shape, parts)
        part = copied.get_submodule(name)
        with suppress(Exception):  # by the user's code
            calls, *others = (
                _recorded(part, torch.zeros(b, *shapes[name]), training, known, passed)
                for b, training in ((2, True), (3, False), (9, True))
            )
            if others == [calls] * 2 and list(_layers(part, calls, None)):
                found[name] = shapes[name], calls
    return found


def _input_shapes(
    root: nn.Module, input_shape: Sequence[int], names: Collection[str]
) -> dict[str, torch.Size]:
    """The shapes of a sample of parts' inputs, where they have one, of floats."""
    found: dict[str, Any] = {}

    def keep(name: str, part: nn.Module, inputs: Sequence[Any]) -> None:
        (x,) = inputs or (None,)
        shape = x.shape[1:] if isinstance(x, Tensor) and x.dtype == torch.float32 else None
        found[name] = shape if found.get(name, shape) == shape else None

    handles = [root.get_submodule(x).register_forward_pre_hook(partial(keep, x)) for x in names]
    for dtype in (torch.float32, torch.int64):
        with suppress(Exception), torch.no_grad():
            root.eval()(torch.zeros(2, *input_shape, dtype=dtype))
            break
    for handle in handles:
        handle.remove()
    return {name: shape for name, shape in found.items() if shape is not None and name}


def _recorded(
    part: nn.Module, x: Tensor, training: bool, known: Collection[type], passed: list[nn.Module]
) -> Calls:
    """The calls of a forward pass; a ValueError if it is no row of layers of ``known`` types.

    Modules in ``passed``, and sequences, may call others.
    """
    recorder = _Recorder(x, training)
    for name, layer in part.named_modules():
        if type(layer) in known:
            vars(layer)["forward"] = partial(recorder.layer, name, layer)
        elif type(layer) is not nn.Sequential and not any(layer is each for each in passed):
            vars(layer)["forward"] = recorder.other
    try:
        with torch.no_grad(), recorder:
            if part.train(training)(x) is not recorder.last:
                raise ValueError
    finally:
        for layer in part.modules():
            vars(layer).pop("forward", None)
    return recorder.calls


class _Recorder(TorchFunctionMode):
    """Records calls that each take the output of the one before; a ValueError at others."""

    def __init__(self, x: Tensor, training: bool) -> None:
        super().__init__()
        self.calls: Calls = []
        self.last, self._training, self._inside = x, training, False

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        (x, *more), options = args, kwargs or {}
        output = func(*args, **options)
        if self._inside or func in DIMENSIONS:
            return output
        if func in SHAPES:
            shape = torch.Size([_Samples(len(x)), *x.shape[1:]])
            return shape[more[0]] if isinstance(output, int) else shape
        if func in DROPOUTS:
            drops = options["training"] is self._training and not options["inplace"]
            if not (drops and 0 < options["p"] < 1):
                raise ValueError(func)
            self._add(x, output, func, options["p"])
        elif func in VIEWS:
            dims = min(x.dim() - 1, output.dim())  # there may be one output of each sample
            if dims < 1 or len(output) != len(x) or output.numel() != x.numel():
                raise ValueError(func)
            self._add(x, output, func, *output.shape[1:])
        elif func in CALLS:
            self._add(x, output, func, more, options)
        else:
            raise ValueError(func)
        return output

    def _add(self, x: Tensor, output: Tensor, call: Any, *more: Any) -> None:
        if x is not self.last:
            raise ValueError(call)
        self.calls.append((call, *more))
        self.last = output

    def layer(self, name: str, layer: nn.Module, x: Tensor) -> Tensor:
        """The forward pass of a layer of the module."""
        self._inside = True
        output = type(layer).forward(layer, x)
        self._inside = False
        self._add(x, output, name)
        return output

    def other(self, *_: Any, **__: Any) -> Any:
        """That of a module that is no such layer."""
        raise ValueError


def _decides(*_: Any) -> Any:
    raise ValueError


#: The number of samples, which shapes may have, and which decides nothing.
_Samples: Any = type(
    "_Samples",
    (int,),
    dict.fromkeys({*vars(int)} - {"__new__", "__hash__", "__getattribute__", "__doc__"}, _decides),
)


def _is_constant(module: nn.Module, known: Collection[type], is_whole: bool) -> bool:
    """Whether a module of another type has a forward pass of one input that is the same at each
    call, but for its shape and ``training``.
    """
    constants = NUMBERS if is_whole else ()
    own = type(module) not in known and not of_torch(type(module))
    if not (own and all(map(unchanged, module.modules()))):
        return False
    kinds = {kind for each in module.modules() for kind in type(each).__mro__[:-1]}
    attributes = [x for kind in kinds if not of_torch(kind) for x in vars(kind).items()]
    forward = type(module).forward
    plain = [inspect.Parameter.POSITIONAL_OR_KEYWORD] * 2
    names = {part for name, _ in module.named_modules() for part in name.split(".")} | ATTRIBUTES
    values = [(name, x) for each in module.modules() for name, x in vars(each).items()]
    names |= {name for name, x in values if _is_known(x) or type(x) in constants}
    others = {name for name, x in values if not (_is_known(x) or type(x) in constants)}
    names -= others - {"training"}  # these are no layers
    checked, left = [], [forward]
    while left:
        function = left.pop()
        code, outside = getattr(function, "__code__", None), getattr(function, "__globals__", {})
        if code is None or code.co_freevars or any(isinstance(x, CodeType) for x in code.co_consts):
            return False
        defaults = *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()
        steps = [*dis.get_instructions(code)]
        sets = any(x.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for x in steps)
        if sets or code.co_exceptiontable or not all(type(x) in NUMBERS for x in defaults):
            return False
        checked.append(function)
        for step in (x for x in steps if x.opcode in dis.hasname):
            name, given = step.argval, outside.get(step.argval)
            methods = [x for attribute, x in attributes if attribute == name]
            if step.opname == "LOAD_GLOBAL":
                torchs = isinstance(given, ModuleType) and given.__name__.split(".")[0] == "torch"
                fits = torchs or (name in BUILTINS and name not in outside)
                fits |= _is_known(given) and getattr(given, "__name__", "") == name
            else:
                loads = step.opname in ("LOAD_ATTR", "LOAD_METHOD")
                fits = loads and (bool(methods) or name in names)
                left += [method for method in methods if method not in checked]
            if not fits:
                return False
    return [x.kind for x in inspect.signature(forward).parameters.values()] == plain


def _is_known(value: Any) -> bool:
    """Whether this is a function of torch that stands for a layer."""
    return callable(value) and any(value in calls for calls in (CALLS, VIEWS, DROPOUTS))
