"""A digest that identifies a user's module: its structure, code and initial values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import chain
from types import CodeType, FunctionType

from torch import nn

_PLAIN = (bool, int, float, str, tuple, type(None))


def module_digest(module: nn.Module) -> str:
    """8 hex digits, equal for modules that train alike from equal parameters.

    They cover the names and classes of layers, their plain attributes and the code of classes
    outside torch, and the names, types and values of parameters and buffers.
    """
    digest = hashlib.sha256()
    for name, layer in module.named_modules(remove_duplicate=False):
        digest.update(repr((name, type(layer).__qualname__)).encode())
        values = {**vars(layer), **_methods(type(layer))}
        for key, value in sorted(values.items()):
            if key != "training" and isinstance(value, (*_PLAIN, FunctionType)):
                digest.update(f"{key}={_text(value)};".encode())
    for name, tensor in chain(module.named_parameters(), module.named_buffers()):
        digest.update(repr((name, tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(bytes([tensor.requires_grad]))
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:8]


def _methods(cls: type) -> dict[str, FunctionType]:
    """The functions of a class and its bases; those that torch defines are left out."""
    own = [each for each in reversed(cls.__mro__) if not each.__module__.startswith("torch.")]
    functions = chain.from_iterable(vars(each).items() for each in own)
    return {name: each for name, each in functions if isinstance(each, FunctionType)}


def _text(value: object) -> str:
    return repr(list(_code(value.__code__))) if isinstance(value, FunctionType) else repr(value)


def _code(code: CodeType) -> Iterator[object]:
    """The instructions, names and constants of a function, without file and line numbers."""
    yield code.co_code
    yield code.co_names
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield list(_code(value))
        else:
            yield sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
