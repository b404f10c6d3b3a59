"""A digest of what a caller gives, such as a loss or a module: of its code and its values.

It is equal in another process, and for a notebook's cell that is run again. A function counts by
its bytecode and the values that it reads: its defaults, closure and globals, each in turn. A class
counts by its members, an object by its class and its state. Installed code counts by its name; by
its file too, unless a run's record has its version.
"""

from __future__ import annotations

import hashlib
import random
import sys
import weakref
from collections.abc import Iterable, Iterator
from copyreg import dispatch_table
from dis import get_instructions
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from ngo.models.layers import RandomLayer

#: Packages whose code is told by their versions, and by the code of the run.
VERSIONED = {*sys.stdlib_module_names, "torch", "ngo", "verdicts"}

_NUMBERS = (int, float, random.Random, np.random.Generator, torch.Generator)
#: The instructions that read a global or a module, by its name.
_READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "IMPORT_NAME")
_PLAIN = (bool, int, float, complex, str, type(None), type(...))


class ValueDigest:
    """The digest of a value, in hex digits: ``text``."""

    #: The type of a part that has no digest, such as an open file; None if there is none.
    unknown: str | None = None

    def __init__(self, value: object) -> None:
        self._known: dict[int, tuple[object, bytes]] = {}  # by id, with what keeps the id taken
        self.text = self._of(value).hex()

    def _of(self, value: Any) -> bytes:
        if type(value) is bytes:
            return hashlib.sha256(b"bytes " + value).digest()
        if type(value) in _PLAIN:
            return hashlib.sha256(f"{type(value).__name__} {value!r}".encode()).digest()
        if id(value) not in self._known:
            self._known[id(value)] = value, b"a part of itself"
            digest = hashlib.sha256(type(value).__qualname__.encode())
            try:
                for part in self._parts(value):
                    digest.update(self._of(part))
            except Exception:  # of the value's own code, too
                self.unknown = self.unknown or type(value).__name__
            self._known[id(value)] = value, digest.digest()
        return self._known[id(value)][1]

    def _parts(self, value: Any) -> Iterable[object]:
        """What decides a value: other values, plain ones in the end."""
        kind = type(value)
        if kind in (list, tuple):
            return value
        if kind is dict:
            return chain.from_iterable(value.items())
        if kind in (set, frozenset):
            return sorted(map(self._of, value))
        if kind is np.ndarray and not value.dtype.hasobject:
            return value.dtype.str, value.shape, value.tobytes()
        if isinstance(value, torch.Tensor):
            data = value.detach().cpu().reshape(-1).contiguous().view(torch.uint8)
            return str(value.dtype), *value.shape, value.requires_grad, data.numpy().tobytes()
        if isinstance(value, CodeType):
            arguments = value.co_varnames[: value.co_argcount + value.co_kwonlyargcount]
            counts = value.co_argcount, value.co_posonlyargcount, value.co_flags
            code = value.co_code, value.co_exceptiontable, value.co_names, value.co_consts
            return *code, arguments, counts
        if isinstance(value, FunctionType):
            return _function(value)
        if isinstance(value, MethodType):
            return value.__func__, value.__self__
        if isinstance(value, type):
            return _class(value)
        if isinstance(value, staticmethod | classmethod):
            return (value.__func__,)
        if isinstance(value, property):
            return value.fget, value.fset
        if isinstance(value, cached_property):
            return (value.func,)
        if isinstance(value, weakref.ref):
            return (value(),)
        if isinstance(value, nn.Module):
            return _module(getattr(value, "_orig_mod", value))  # what torch.compile wraps
        name, wrapped = getattr(value, "__name__", None), getattr(value, "__wrapped__", None)
        if isinstance(name, str) and wrapped is None and _installed(_home(value)):
            return _named(_home(value), name)
        reduce = dispatch_table.get(kind)
        reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        if isinstance(reduced, str):
            return kind, reduced, wrapped
        made, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        return made, arguments, state, [*(items or ())], [*(pairs or ())]


def numbers_digest(module: nn.Module) -> str:
    """A digest of the numbers and generators that a module's layers hold, other than tensors."""
    held = [
        (layer, name, value)
        for layer, each in module.named_modules()
        if not isinstance(each, RandomLayer)  # the package's own, whose streams are kept
        for name, value in vars(each).items()
        if isinstance(value, _NUMBERS) and name != "training"
    ]
    return ValueDigest(held).text


def _function(function: FunctionType) -> Iterator[object]:
    """The code of a function, and what it reads; of an installed one, its name and its closure."""
    read = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    home = function.__globals__.get("__name__", "")
    if _installed(home):
        yield from (*_named(home, function.__code__.co_qualname), *read)
        return
    yield from (function.__code__, function.__defaults__, function.__kwdefaults__, vars(function))
    codes = [function.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    names = sorted({name for code in codes for name in code.co_names})
    steps = {(each.opname, each.argval) for code in codes for each in get_instructions(code)}
    for step, name in sorted(each for each in steps if each[0] in _READS):
        source = sys.modules if step == "IMPORT_NAME" else function.__globals__
        read.append(source.get(name))
    modules = []
    for value in read:
        if not isinstance(value, ModuleType) or _installed(value.__name__):
            yield value
        elif value not in modules:  # of the user's own modules, what the function may use
            modules.append(value)
            read += [vars(value)[name] for name in names if name in vars(value)]


def _class(cls: type) -> Iterator[object]:
    for each in cls.__mro__:
        if _installed(each.__module__):
            yield from _named(each.__module__, each.__qualname__)
            continue
        for name, member in sorted(vars(each).items()):
            special = name.startswith("__") or name == "_abc_impl"
            if not special or isinstance(member, FunctionType | staticmethod):
                yield from (name, member)


def _module(module: nn.Module) -> Iterator[object]:
    """A module's class, tensors, layers and attributes; hooks without their numbers."""
    yield type(module)
    for name, value in sorted(vars(module).items()):
        yield from (name, [*value.values()] if "_hooks" in name and value else value)
    # Two names of one tensor are not two equal tensors.
    yield [name for name, _ in chain(module.named_parameters(), module.named_buffers())]


def _home(value: object) -> str:
    """The name of the module that defines a value; empty if it has none."""
    return str(getattr(value, "__module__", None) or getattr(value, "__name__", ""))


def _installed(module: str) -> bool:
    """Whether a module is the standard library's or an installed package's, not the user's own."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    folders = {"site-packages", "dist-packages"}
    is_known = module.partition(".")[0] in VERSIONED
    return is_known or (module != "__main__" and not folders.isdisjoint(Path(file).parts))


def _named(module: str, name: str) -> Iterator[object]:
    """What tells installed code: its name, and its file where no version does."""
    yield from (module, name)
    if module.partition(".")[0] not in VERSIONED:
        yield Path(sys.modules[module].__file__ or "").read_bytes()


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
