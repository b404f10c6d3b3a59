"""Fingerprints of code: they change with what the code does, and not with how it is written.

A fingerprint covers the given definitions and all of our own code that they reach: the packages
``ngo`` and ``verdicts``, plugins, and the top-level packages of installed plugins. A name looked up
in a registry reaches the registry and none of its entries; whoever asks for a fingerprint names the
entries.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from ngo.common import plugins, scopes, syntax

PACKAGE = Path(__file__).parents[1]
OURS = (PACKAGE, PACKAGE.with_name("verdicts"))

# Modules that were moved, with their former names: code that moves retrains nothing.
FORMER = {
    "verdicts.registry": "ngo.common.registry",
    "verdicts.yaml_files": "ngo.common.unique_keys",
}

# A file's modification time and size: as long as both stay, so does what was read from it.
Stamp = tuple[int, int]
# A module's file, and the name of a definition in it (empty for all of the file's code).
Reached = tuple[Path, str]


def fingerprint(*definitions: str | Path) -> str:
    """16 hex digits for all the code that ``definitions`` reach.

    A definition is ``module:name`` (a top-level function, class or assigned name),
    ``module:Class.method`` (that method alone), ``module`` (all of its definitions), or the path of
    a file (all of its code). Names that can't be resolved by reading the code, such as attributes
    of objects, are not followed.
    """
    roots = tuple(sorted({str(definition) for definition in definitions}))
    asked = (roots, PACKAGE, *(plugin.path for plugin in plugins.loaded()))
    known = _known.get(asked)
    if known is None or any(_stamp(path) != stamp for path, stamp in known[0].items()):
        known = _known[asked] = _compute(roots)
    return known[1]


def reached(*definitions: str | Path) -> set[str]:
    """The definitions that ``definitions`` reach, themselves included, as ``module:name``."""
    found = _reached(map(str, definitions))
    return {f"{_module(path).name}:{name}" for path, name in found if name}


_known: dict[tuple, tuple[dict[Path, Stamp | None], str]] = {}
_modules: dict[Path, tuple[Stamp, Module]] = {}


def _compute(roots: tuple[str, ...]) -> tuple[dict[Path, Stamp | None], str]:
    digest = hashlib.sha256()
    found = _reached(roots)
    files: dict[Path, Stamp | None] = {}
    for path, name in sorted(found, key=lambda each: (_module(each[0]).former_name, each[1])):
        module = _module(path)
        if path not in files:
            files[path] = _stamp(path)
            native = path.with_suffix(".c")
            files[native] = _stamp(native)
            if files[native] is not None:
                digest.update(native.read_bytes())
        digest.update(f"\0{module.former_name}:{name}\0{module.code(name).text}".encode())
    return files, digest.hexdigest()[:16]


def _reached(roots: Iterable[str]) -> set[Reached]:
    _file.cache_clear()
    waiting = [each for root in roots for each in _root(root)]
    found: set[Reached] = set()
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            path, name = each
            waiting += _module(path).reached(name)
    return found


def _root(definition: str) -> list[Reached]:
    """The definitions of a root; none if its code is not ours."""
    if definition.endswith(".py"):
        return [(Path(definition), "")]
    module, _, qualname = definition.partition(":")
    path = _file(module)
    if path is None:
        if module.partition(".")[0] == "ngo":
            raise ValueError(f"{definition!r}: there is no module {module}")
        return []
    if not qualname or "<" in qualname:  # defined inside a function: only its module is known
        return [(path, each) for each in _module(path).definitions]
    if not _module(path).has(qualname):
        raise ValueError(f"{definition!r}: module {module} has no definition of that name")
    return [(path, qualname)]


def _stamp(path: Path) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@cache
def _file(module: str) -> Path | None:
    """The source file of a module of ours; None for all other names."""
    top, *rest = module.split(".")
    if top in (folder.name for folder in OURS):
        folder = PACKAGE.with_name(top)
    elif top.startswith(plugins.PREFIX):
        file = getattr(sys.modules.get(top), "__file__", None)
        return Path(file) if file and not rest else None
    elif top in {plugin.module.partition(".")[0] for plugin in plugins.loaded()}:
        spec = importlib.util.find_spec(top)
        if spec is None or not (spec.origin or "").endswith(".py"):
            return None
        if not spec.submodule_search_locations:
            return None if rest else Path(spec.origin)
        folder = Path(spec.origin).parent
    else:
        return None
    for path in (folder.joinpath(*rest).with_suffix(".py"), folder.joinpath(*rest, "__init__.py")):
        if path != folder.with_suffix(".py") and path.is_file():
            return path
    return None


def _module(path: Path) -> Module:
    stamp = _stamp(path)
    known = _modules.get(path)
    if known is None or known[0] != stamp:
        known = _modules[path] = (stamp, Module(path))
    return known[1]


def _name(path: Path) -> str:
    """The dotted name of the module in a file of ours."""
    for plugin in plugins.loaded():
        if plugin.path == path and plugin.module.startswith(plugins.PREFIX):
            return plugin.module
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").exists():
        parts, folder = [folder.name, *parts], folder.parent
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass
class Module:
    """A parsed source file: its top-level definitions and imports."""

    path: Path
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, scopes.Imported] = field(default_factory=dict)
    _codes: dict[str, syntax.Code] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        is_package = self.path.stem == "__init__"
        self._package = self.name if is_package else self.name.rpartition(".")[0]
        for node in _top_level(tree.body):
            self.imports |= scopes.imported_names(node, self._package)
            for name in _defined(node):
                self.definitions.setdefault(name, []).append(node)
        self._statements = tree.body

    @cached_property
    def name(self) -> str:
        """The module's dotted name."""
        return _name(self.path)

    @property
    def former_name(self) -> str:
        """The name that the module had before it was moved, or its name."""
        return FORMER.get(self.name, self.name)

    def code(self, name: str) -> syntax.Code:
        """The canonical code of a definition; for an empty name, that of all statements."""
        if name not in self._codes:
            nodes = self._nodes(name) if name else self._statements
            self._codes[name] = syntax.canonical(nodes, self.imports, self._package)
        return self._codes[name]

    def has(self, name: str) -> bool:
        """Whether ``name`` is a definition, or a method of one (``Class.method``)."""
        return bool(self._nodes(name))

    def _nodes(self, name: str) -> list[ast.stmt]:
        top, *inner = name.split(".")
        nodes = self.definitions.get(top, [])
        for each in inner:
            nodes = [
                node
                for outer in nodes
                for node in getattr(outer, "body", ())
                if getattr(node, "name", "") == each
            ]
        return nodes

    def reached(self, name: str) -> Iterator[Reached]:
        """The definitions that a definition uses."""
        code = self.code(name)
        if name:  # else all of the file's own names are part of the code
            yield from ((self.path, each) for each in code.globals if each in self.definitions)
        for target in code.imports:
            yield from _resolved(target)


def _resolved(target: str, depth: int = 0) -> Iterator[Reached]:
    """The definition with a dotted name; for the name of a module, all of its definitions."""
    module, path, rest = "", None, target.split(".")
    while rest and (further := _file(f"{module}.{rest[0]}".strip("."))) is not None:
        module, path = f"{module}.{rest.pop(0)}".strip("."), further
    if path is None:
        return
    if not rest:
        yield from ((path, name) for name in _module(path).definitions)
    elif rest[0] in _module(path).definitions:
        yield path, rest[0]
    elif (imported := _module(path).imports.get(rest[0])) is not None and depth < 10:
        yield from _resolved(".".join([imported.target, *rest[1:]]), depth + 1)


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those in ``if``, ``try`` and ``with`` included."""
    for node in body:
        if scopes.is_type_checking(node):
            yield from _top_level(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            parts = [node.body, getattr(node, "orelse", []), getattr(node, "finalbody", [])]
            handlers = [handler.body for handler in getattr(node, "handlers", [])]
            for part in (*parts, *handlers):
                yield from _top_level(part)
        else:
            yield node


def _defined(node: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement defines."""
    if isinstance(node, (*scopes.FUNCTIONS, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            plain = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            yield from (each.id for each in plain if isinstance(each, ast.Name))
