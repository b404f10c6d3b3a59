"""The package's files that a module's, or a notebook's, results depend on."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


def sources(*modules: str | Path) -> list[Path]:
    """The files of ``modules`` (``ngo.training``, or a notebook's path) and of all that they import
    from ``ngo``.

    Imports inside functions count, since they decide results as much as others do; and the C file
    that a module has beside it.
    """
    found: set[Path] = set()
    waiting = {module if isinstance(module, Path) else _path(module) for module in modules}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= _imported(path) - found
    beside = (path.with_suffix(".c") for path in found)
    return sorted([*found, *filter(Path.is_file, beside)])


def fingerprint(paths: Iterable[Path]) -> str:
    """16 hex digits of the files' names and bytes."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def _imported(path: Path) -> set[Path]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(_code(path))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    ours = (name for name in names if name == "ngo" or name.startswith("ngo."))
    return {path for name in ours if (path := _path(name)).is_file()}


def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return "\n".join("".join(cell["source"]) for cell in cells)


def _path(module: str) -> Path:
    return PACKAGE / ("/".join(module.split(".")[1:] or ["__init__"]) + ".py")
