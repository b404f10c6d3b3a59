"""Plugins: a user's own Python files that register topologies, methods, models, data sets, …

A plugin is named in a config (``plugins: [mine.py]``) or on the command line (``--plugin
mine.py``). It is imported once in a process, before any name is looked up. A plugin may also be a
YAML file that describes a data set.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import random
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from ngo.common.lazy import np
from verdicts.registry import UserError, in_a_line, shown

# A plugin's module has its file's name behind this prefix, so that no library is shadowed.
PREFIX = "ngo_plugin_"


@dataclass(frozen=True)
class Plugin:
    """An imported plugin: its module's name, and its file."""

    module: str
    path: Path

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()


_loaded: dict[str, Plugin] = {}


def load(paths: Iterable[str | Path], key: str = "plugins") -> list[Plugin]:
    """Load plugin files, each once in a process; a UserError, under ``key``, where one fails."""
    return [_load(Path(path), key) for path in paths]


load_plugins = load  #: Its name in ``ngo``.


def loaded() -> tuple[Plugin, ...]:
    """The plugins of this process, in the order in which they were imported."""
    return tuple(_loaded.values())


def _load(path: Path, key: str) -> Plugin:
    name = PREFIX + path.stem
    if (known := _loaded.get(name)) is not None:
        if known.path != path.resolve():
            fault = f"{str(path)!r} and {str(known.path)!r} have one name"
            raise UserError(f"{key}: {fault}; rename one of them.")
        return known
    if path.suffix not in (".py", ".yaml") or not os.path.isfile(path):
        fault = "is not a Python file" if os.path.exists(path) else "does not exist"
        raise UserError(f"{key}: {shown(str(path))} {fault}.")
    if path.suffix == ".py":
        _import(name, path, key)
    else:
        importlib.import_module("ngo.data.description").register(path, key)
    _loaded[name] = Plugin(name, path.resolve())
    return _loaded[name]


def _import(name: str, path: Path, key: str) -> None:
    """Import a Python file as the module ``name``; a one-line UserError if that fails.

    The working folder stays: other paths of a command or a config are relative to it.
    """
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with chdir("."), _seeded():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if isinstance(error, UserError):
            raise UserError(f"{key}: {str(path)!r}: {error}") from error
        lines = _lines_in(spec.origin, error)
        where = f", line {lines[-1]}" if lines else ""
        why = f"{type(error).__name__}{where}: {in_a_line(error)}"
        raise UserError(f"{key}: {str(path)!r} can't be imported: {why}") from error


@contextmanager
def _seeded() -> Iterator[None]:
    """Within it, NumPy's and Python's streams are the same in each process, as torch's is."""
    states = random.getstate(), np.random.get_state()
    random.seed(0)
    np.random.seed(0)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def _lines_in(file: str, error: BaseException) -> list[int]:
    """The lines of a file at which an error was on its way, the innermost last."""
    frames = traceback.walk_tb(error.__traceback__)
    return [line for frame, line in frames if frame.f_code.co_filename == file]


def failed(what: str, code: CodeType, line: int, error: BaseException) -> UserError:
    """The one-line error for ``what`` failed in the user's ``code``."""
    place = f"{Path(code.co_filename).name}, line {line}"
    return UserError(f"{what} ({place}): {type(error).__name__}: {in_a_line(error)}.")


@contextmanager
def blamed(what: str, function: Any) -> Iterator[None]:
    """Turn the error of a call of a user's ``function`` into a UserError, which names ``what``.

    Errors of the package's own functions are raised as they are.
    """
    try:
        yield
    except (UserError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if function.__module__.startswith("ngo."):
            raise
        code = function.__code__
        lines = [code.co_firstlineno, *_lines_in(code.co_filename, error)]
        raise failed(what, code, lines[-1], error) from error
