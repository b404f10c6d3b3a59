"""A digest of what a caller gives, such as a loss or a module: of its code and its values.

It is equal in another process, and for a notebook's cell that is run again. A function counts by
its bytecode and the values that it reads (its defaults, closure and globals), a class by its
members, a module of the user's own by its file, installed code by its name, and another object by
what ``pickle`` would keep of it.
"""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections.abc import Iterable, Mapping
from copyreg import dispatch_table
from dis import get_instructions
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

from verdicts.registry import UserError

_PLAIN = (bool, int, float, complex, str, type(None), type(...))
_WRAPPERS = (MethodType, staticmethod, classmethod, property, cached_property)


class ObjectDigest:
    """The digest of a value, in hex digits: ``text``."""

    #: The type of a part that has no digest, such as an open file; None if there is none.
    unknown: str | None = None

    def __init__(self, value: object) -> None:
        self._known: dict[int, tuple[object, bytes]] = {}  # by id, with what keeps the id taken
        self.text = self._of(value).hex()

    def _of(self, value: Any) -> bytes:
        kind = type(value)
        if kind is bytes or kind in _PLAIN:
            content = value if kind is bytes else repr(value).encode()
            return hashlib.sha256(kind.__name__.encode() + b" " + content).digest()
        if id(value) not in self._known:
            self._known[id(value)] = value, b"a part of itself"
            digest = hashlib.sha256(kind.__qualname__.encode())
            try:
                parts = sorted(map(self._of, value)) if kind in (set, frozenset) else _parts(value)
                for part in parts:
                    digest.update(self._of(part))
            except Exception:  # of the value's own code, too
                self.unknown = self.unknown or kind.__name__
            self._known[id(value)] = value, digest.digest()
        return self._known[id(value)][1]


def digests(values: Mapping[str, object]) -> dict[str, str | None]:
    """16 hex digits of each value; None for None.

    Raises a UserError for a value with a part that has no digest.
    """
    by_name: dict[str, str | None] = {}
    for name, value in values.items():
        digest = ObjectDigest(value)
        if digest.unknown is not None:
            fault = f"a {digest.unknown}, which can't be compared with that of another start"
            wanted = "with out it must be made of code and of plain values"
            raise UserError(f"{name}: it holds or reads {fault}; {wanted}.")
        by_name[name] = None if value is None else digest.text[:16]
    return by_name


def _parts(value: Any) -> Iterable[object]:
    """What decides a value: other values, plain ones in the end."""
    if type(value) in (list, tuple):
        return value
    if type(value) is dict:
        return chain.from_iterable(value.items())
    home = str(getattr(value, "__module__", None) or getattr(value, "__name__", ""))
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(value, torch.Tensor):
        data = value.detach().cpu().reshape(-1).contiguous().view(torch.uint8)
        return str(value.dtype), *value.shape, value.requires_grad, data.numpy().tobytes()
    if isinstance(value, CodeType):
        names = value.co_names, value.co_varnames, value.co_argcount, value.co_flags
        return value.co_code, value.co_exceptiontable, value.co_consts, *names
    if isinstance(value, _WRAPPERS):
        held = ("__func__", "__self__", "fget", "fset", "func")
        return tuple(getattr(value, name, None) for name in held)
    if isinstance(value, weakref.ref):
        return (value(),)
    if isinstance(value, nn.Module):
        value = getattr(value, "_orig_mod", value)  # what torch.compile wraps
        # Hooks count without their numbers. Two names of one tensor are not two equal tensors.
        state = [
            (name, [*part.values()] if "_hooks" in name and part else part)
            for name, part in sorted(vars(value).items())
        ]
        return type(value), state, [name for name, _ in value.named_parameters()]
    if isinstance(name, str) and _installed(home) and not hasattr(value, "__wrapped__"):
        return home, name, _closure(value)
    if isinstance(value, ModuleType):
        return (Path(value.__file__ or "").read_bytes(),)
    if isinstance(value, FunctionType):
        codes = [value.__code__]
        for code in codes:
            codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        steps = chain.from_iterable(map(get_instructions, codes))
        used = sorted({step.argval for step in steps if step.opname == "LOAD_GLOBAL"})
        read = [value.__globals__.get(name) for name in used]
        defaults = value.__defaults__, value.__kwdefaults__
        return value.__code__, *defaults, vars(value), read, _closure(value)
    if isinstance(value, type):
        return value.__bases__, [
            (name, member)
            for name, member in sorted(vars(value).items())
            if not (name.startswith("__") or name == "_abc_impl")
            or isinstance(member, FunctionType | staticmethod)
        ]
    reduce: Any = dispatch_table.get(type(value))
    reduced = reduce(value) if reduce else value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return reduced, getattr(value, "__wrapped__", None)
    return [*reduced[:3], *(list(items or ()) for items in reduced[3:5])]


def _closure(function: Any) -> list[object]:
    return [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]


def _installed(module: str) -> bool:
    """Whether a module is the standard library's or an installed package's, not the user's own."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    packages = {"site-packages", "dist-packages"} & {*Path(file).parts}
    is_known = module.partition(".")[0] in {*sys.stdlib_module_names, "torch", "ngo", "verdicts"}
    return module != "__main__" and bool(is_known or packages)
