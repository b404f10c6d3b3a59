"""The canonical text of Python code, and the names that it uses.

The canonical text changes only when the code can behave differently. It has no comments,
docstrings, positions or annotations of functions; local variables are numbered; an imported name
is written as its target. Parameters keep their names, since callers may pass them by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ngo.common.scopes import Imported, bound_names, is_type_checking

_IGNORED_FIELDS = {"ctx", "type_comment", "kind", "type_ignores"}

# Nodes with a name that they bind, and the words for them.
_BINDING = {"ExceptHandler": "except", "MatchAs": "as", "MatchStar": "*", "MatchMapping": "mapping"}


@dataclass
class Code:
    """Canonical text, and the names outside the code that the code uses.

    ``globals`` are names of the code's own module, ``imports`` dotted names of others.
    """

    text: str
    globals: set[str]
    imports: set[str]


def canonical(nodes: Iterable[ast.stmt], imports: dict[str, Imported], package: str) -> Code:
    """The canonical form of statements of a module in ``package`` with top-level ``imports``."""
    writer = _Writer(imports, package)
    for node in nodes:
        writer.write(node)
    return Code("\n".join(writer.words), writer.globals, writer.imports)


@dataclass
class _Scope:
    """Names of a function (or class) and their canonical form; a class hides none from methods."""

    names: dict[str, str | Imported]
    is_class: bool = False


@dataclass
class _Writer:
    """Writes syntax trees as lists of words."""

    module_imports: dict[str, Imported]
    package: str
    words: list[str] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)
    scopes: list[_Scope] = field(default_factory=list)
    locals: int = 0

    def write(self, value: object) -> None:
        """Write a node, a list of nodes, or a constant."""
        if isinstance(value, ast.AST):
            kind = type(value).__name__
            if (special := _SPECIAL.get(kind)) is not None:
                special(self, value)
                return
            self.words.append(_BINDING.get(kind, kind))
            for name in value._fields:
                part = getattr(value, name, None)
                if kind in _BINDING and isinstance(part, str):  # the name that it binds
                    self._write_name(part)
                elif name not in _IGNORED_FIELDS:
                    self.write(part)
        elif isinstance(value, list):
            self.words.append("[")
            for item in value:
                self.write(item)
            self.words.append("]")
        else:
            self.words.append(repr(value))

    # Names

    def _found(self, name: str) -> str | Imported | None:
        """The canonical form of a local name, the target of an import, or None for a global."""
        for depth, scope in enumerate(reversed(self.scopes)):
            if name in scope.names and not (scope.is_class and depth):
                return scope.names[name]
        return self.module_imports.get(name)

    def _write_name(self, name: str) -> None:
        """Write a name that a statement binds or reads."""
        found = self._found(name)
        if isinstance(found, Imported):
            self.imports.add(found.target)
            self.words.append(found.target)
        elif found is None:
            self.globals.add(name)
            self.words.append(name)
        else:
            self.words.append(found)

    def _write_Name(self, node: ast.Name) -> None:
        self._write_name(node.id)

    def _write_Attribute(self, node: ast.Attribute) -> None:
        attributes, base = [], node
        while isinstance(base, ast.Attribute):
            attributes.append(base.attr)
            base = base.value
        attributes.reverse()
        found = self._found(base.id) if isinstance(base, ast.Name) else None
        if isinstance(found, Imported):
            target = ".".join([found.target, *attributes])
            self.imports.add(target)
            self.words.append(target)
        else:
            self.write(base)
            self.words += [f".{name}" for name in attributes]

    # Statements

    def _write_Import(self, node: ast.Import) -> None:
        """An import shows where its name is used."""

    _write_ImportFrom = _write_Import

    def _write_Expr(self, node: ast.Expr) -> None:
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.words.append("Expr")
            self.write(node.value)

    def _write_AnnAssign(self, node: ast.AnnAssign) -> None:
        in_class = bool(self.scopes) and self.scopes[-1].is_class
        if in_class:  # a field of a data class, with the annotation that makes it one
            self.words += ["field", ast.dump(node.annotation)]
        if in_class or node.value is not None:
            self.words.append("Assign")
            self.write([node.target])
            self.write(node.value)

    def _write_If(self, node: ast.If) -> None:
        if is_type_checking(node):
            self.write(node.orelse)
            return
        self.words.append("If")
        for part in (node.test, node.body, node.orelse):
            self.write(part)

    def _write_Global(self, node: ast.Global) -> None:
        for name in node.names:
            self._write_name(name)

    _write_Nonlocal = _write_Global

    # Scopes

    def _write_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.words.append(type(node).__name__)
        self._write_defined(node.name)
        self.write(node.decorator_list)
        self._write_function(node.args, node.body)

    _write_AsyncFunctionDef = _write_FunctionDef

    def _write_Lambda(self, node: ast.Lambda) -> None:
        self.words.append("Lambda")
        self._write_function(node.args, [node.body])

    def _write_ClassDef(self, node: ast.ClassDef) -> None:
        self.words.append("ClassDef")
        self._write_defined(node.name)
        for part in (node.decorator_list, node.bases, node.keywords):
            self.write(part)
        names = bound_names(node.body, self.package)
        self.scopes.append(_Scope({name: names[name] or name for name in names}, is_class=True))
        self.write(node.body)
        self.scopes.pop()

    def _write_defined(self, name: str) -> None:
        self._write_name(name) if self.scopes else self.words.append(name)

    def _write_function(self, arguments: ast.arguments, body: list[ast.AST]) -> None:
        self.write([*arguments.defaults, *filter(None, arguments.kw_defaults)])
        plain = [*arguments.posonlyargs, *arguments.args]
        starred = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
        parameters = [argument.arg for argument in [*plain, *arguments.kwonlyargs, *starred]]
        sizes = (len(arguments.posonlyargs), len(plain), arguments.vararg and 1, len(starred))
        without = [value is None for value in arguments.kw_defaults]
        self.words.append(repr((parameters, sizes, without)))
        with self._locals(bound_names(body, self.package), parameters):
            self.write(body)

    def _write_comprehension_of(self, node: ast.AST, results: list[ast.expr]) -> None:
        self.words.append(type(node).__name__)
        self.write(node.generators[0].iter)  # evaluated outside
        with self._locals(bound_names([loop.target for loop in node.generators], self.package)):
            for index, loop in enumerate(node.generators):
                self.write(loop.target)
                if index:
                    self.write(loop.iter)
                self.words.append(repr(loop.is_async))
                self.write(loop.ifs)
            self.write(results)

    def _write_ListComp(self, node: ast.ListComp) -> None:
        self._write_comprehension_of(node, [node.elt])

    _write_SetComp = _write_GeneratorExp = _write_ListComp

    def _write_DictComp(self, node: ast.DictComp) -> None:
        self._write_comprehension_of(node, [node.key, node.value])

    @contextmanager
    def _locals(
        self, bound: dict[str, Imported | None], parameters: Iterable[str] = ()
    ) -> Iterator[None]:
        """A scope with these names, the local ones numbered through the whole definition."""
        names: dict[str, str | Imported] = {}
        for name, imported in bound.items():
            names[name] = imported or f"${self.locals}"
            self.locals += imported is None
        self.scopes.append(_Scope({**names, **{name: name for name in parameters}}))
        yield
        self.scopes.pop()


_SPECIAL = {
    name.removeprefix("_write_"): method
    for name, method in vars(_Writer).items()
    if hasattr(ast, name.removeprefix("_write_"))
}
