"""The names that Python code binds: by imports, and in the scope of a function or class."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OWN_SCOPE = (*FUNCTIONS, ast.ClassDef, ast.Lambda)
_NAMED = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


@dataclass(frozen=True)
class Imported:
    """The target of an imported name: ``ngo.gossip.coupling`` or ``torch.nn.functional.relu``."""

    target: str


def imported_names(node: ast.stmt, package: str) -> dict[str, Imported]:
    """The names that an import statement binds, in a module of ``package``."""
    names = {}
    if isinstance(node, ast.Import):
        for alias in node.names:
            target = alias.name if alias.asname else alias.name.partition(".")[0]
            names[alias.asname or target] = Imported(target)
    elif isinstance(node, ast.ImportFrom):
        parts = package.split(".")[: -(node.level - 1) or None] if node.level else []
        source = ".".join([*parts, *filter(None, [node.module])])
        for alias in node.names:
            names[alias.asname or alias.name] = Imported(f"{source}.{alias.name}")
    return names


def is_type_checking(node: ast.stmt) -> bool:
    """Whether ``node`` is an ``if TYPE_CHECKING:``, whose body never runs."""
    if not isinstance(node, ast.If):
        return False
    name = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", "")
    return name == "TYPE_CHECKING"


def bound_names(nodes: Iterable[ast.AST], package: str) -> dict[str, Imported | None]:
    """The names that code binds in its own scope, in order; what an import binds is resolved."""
    bound: dict[str, Imported | None] = {}
    outer: set[str] = set()
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                bound.setdefault(node.id)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound.update(imported_names(node, package))
            continue
        if isinstance(node, _COMPREHENSIONS):
            walruses = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
            bound.update({each.target.id: None for each in walruses})
            continue
        if isinstance(node, ast.Global | ast.Nonlocal):
            outer.update(node.names)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.setdefault(node.rest)
        elif isinstance(node, _NAMED) and node.name:
            bound.setdefault(node.name)
        if is_type_checking(node):
            waiting += node.orelse[::-1]
        elif not isinstance(node, _OWN_SCOPE):
            waiting += [*ast.iter_child_nodes(node)][::-1]
    return {name: imported for name, imported in bound.items() if name not in outer}
