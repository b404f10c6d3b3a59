"""A figure or a table is one Python file in its paper's folder ``figures``.

The file's docstring is the text that is shown with it. Its functions are::

    @figure("fig4", section="5.2 Nonlinearity", title="Figure 4: …", apart=("method", "p", "gamma"))
    def numbers(metrics):     # tidy tables → one tidy table, or several by name; saved as CSV
    def draw(numbers):        # → a matplotlib figure
    def show(numbers):        # → the table as it is printed (for a table)
    def note(numbers, …):     # → sentences below the drawing (optional)
    def caption(numbers, …):  # → the caption of the table

Light: the facts of a file are read without importing it, so that the workflow imports no pandas.
``ngo.plots.making`` makes a figure or table from its file.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ngo.analysis.apart import CELL
from ngo.common.registry import UserError, in_a_line, shown, unknown

if TYPE_CHECKING:
    import pandas as pd

Numbers = TypeVar("Numbers", bound=Callable[..., object])

Tables: TypeAlias = "dict[str, pd.DataFrame]"
"""The numbers of several tables and figures of one file, by name."""

ANY = "*"
"""In the place of a table: all that claims are about. In a pattern: ``universes_*``."""
ASKED = ("network", "claims")
"""Parameters of ``numbers`` that it may ask for: the config's networks, the file of claims."""

FIGURE = ("png", "pdf", "csv")
TABLE = ("csv", "md", "tex", "html")


@dataclass(frozen=True)
class Declared:
    """The facts of a table or figure."""

    name: str
    section: str
    title: str
    #: Names of tidy tables, by the parameter of ``numbers``. For a pattern, the parameter is a
    #: mapping of all tables that match; of the table of claims, those that claims are about.
    reads: Mapping[str, str]
    #: The names of files in ``results/TIER/figures`` and ``results/TIER/tables``, without suffixes.
    figures: tuple[str, ...]
    tables: tuple[str, ...]
    #: The CSV file with the paper's numbers, by name; ``numbers`` gets its path as ``reference``.
    reference: str | None
    #: The fields that distinguish runs (or partitions) of one seed. None if each run is shown by
    #: itself, or none.
    apart: tuple[str, ...] | None
    #: Numbers that the config gives: each parameter with a range, above the first number and at
    #: most the second.
    values: Mapping[str, tuple[float, float]]
    #: The data set that the paper used, where another one stands in for it.
    stands_for: str | None = None
    #: Which of ``ASKED`` are parameters of ``numbers`` too.
    asks: tuple[str, ...] = ()
    #: Whether it is the default figure of the experiment after which it is named.
    default: bool = False
    text: str = ""
    """What it shows, what the paper says, and what to look at (reStructuredText)."""
    source: Path = Path()

    def outputs(self) -> list[str]:
        """The files, from the folder of a tier; the one to look at first comes first."""
        return [
            *(f"figures/{name}.{kind}" for name in self.figures for kind in FIGURE),
            *(f"tables/{name}.{kind}" for name in self.tables for kind in TABLE),
            f"captions/{self.name}.rst",
        ]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of its notebook: those of ``numbers``, the tier, and the folder."""
        reference = ["reference"] if self.reference else []
        return (*self.reads, *reference, *self.asks, *self.values, "tier", "out")

    def of(self, experiment: str) -> Declared:
        """The same for ``experiment``, after which it and its files are named."""
        return replace(
            self,
            name=experiment,
            title=experiment,
            reads=dict.fromkeys(self.reads, experiment),
            figures=(experiment,),
            tables=(experiment,),
            default=True,
        )

    @property
    def place(self) -> tuple[object, ...]:
        """The place in its paper: by section, then by title; numbers count as numbers."""
        words = re.findall(r"\d+|\D+", f"{self.section}\0{self.title}")
        return tuple((not word.isdigit(), int(word) if word.isdigit() else word) for word in words)


def figure(
    name: str,
    *,
    section: str,
    title: str,
    reads: str | Mapping[str, str] | None = None,
    tables: tuple[str, ...] = (),
    reference: str | None = None,
    apart: tuple[str, ...] | None = None,
    values: Mapping[str, tuple[float, float]] | None = None,
    stands_for: str | None = None,
) -> Callable[[Numbers], Numbers]:
    """Declare the figure ``name``, see ``Declared``; all arguments are literals.

    ``reads`` is the tidy table of the parameter ``metrics``, by default that of the experiment
    ``name``; or a mapping of parameters to tables. ``tables`` are further tables from the file.
    ``apart`` is by default ``CELL`` for a table, and nothing for a figure.
    """
    return lambda numbers: numbers


table = figure
"""Declare the table ``name``, with the same arguments."""


def read_declared(source: Path) -> Declared:
    """The facts of the file ``source``; a one-line UserError for one that declares them wrongly."""
    try:
        tree = ast.parse(source.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise UserError(f"figure: {str(source)!r} can't be read: {in_a_line(error)}") from None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "numbers":
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") in _KINDS:
                    return _facts(source, call, node.args, ast.get_docstring(tree) or "")
    raise UserError(
        f"figure: {str(source)!r} has no function numbers with @figure(…) or @table(…)."
    )


def check_values(key: str, facts: Declared, given: Mapping[str, float], *, asked: bool) -> None:
    """Raise a one-line UserError for the first number that is not among ``facts.values``.

    ``key`` is the place in the config. If the figure is ``asked`` for, none may be missing.
    """
    for name, value in given.items():
        if name not in facts.values:
            raise unknown(key, name, facts.values)
        low, high = facts.values[name]
        if not low < value <= high:
            raise UserError(
                f"{key}.{name}: {shown(value)} is not allowed; it must be a number above {low:g} "
                f"and at most {high:g}."
            )
    if asked and (missing := [name for name in facts.values if name not in given]):
        raise UserError(f"{key}: {missing[0]!r} is missing.")


_KINDS = {"figure": None, "table": CELL}
_KEYS = tuple(inspect.signature(figure).parameters)[1:]


def _facts(source: Path, call: ast.Call, arguments: ast.arguments, text: str) -> Declared:
    kind = call.func.id  # type: ignore[attr-defined]
    key = f"figure: {str(source)!r}"
    try:
        (name,) = map(ast.literal_eval, call.args)
        given = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    except ValueError:
        raise UserError(f"{key}: @{kind}(…) takes a name and literal values.") from None
    if wrong := [each for each in given if each not in _KEYS]:
        raise UserError(f"{key}: {wrong[0]!r} is unknown; allowed: {', '.join(_KEYS)}.")
    if missing := [each for each in ("section", "title") if each not in given]:
        raise UserError(f"{key}: {missing[0]!r} is missing.")
    if not text.strip():
        raise UserError(f"{key}: it has no docstring, which is the text that is shown with it.")
    reads = given.get("reads") or name
    facts = Declared(
        name=name,
        section=given["section"],
        title=given["title"],
        reads=reads if isinstance(reads, Mapping) else {"metrics": reads},
        figures=(name,) if kind == "figure" else (),
        tables=(*((name,) if kind == "table" else ()), *given.get("tables", ())),
        reference=given.get("reference"),
        apart=given.get("apart", _KINDS[kind]),
        values=given.get("values") or {},
        stands_for=given.get("stands_for"),
        asks=tuple(each for each in ASKED if each in _names(arguments)),
        text=text.strip(),
        source=source,
    )
    known = facts.parameters[:-2]
    if other := [each for each in _names(arguments) if each not in known]:
        raise UserError(f"{key}: numbers has the parameter {other[0]!r}, which nothing provides.")
    return facts


def _names(arguments: ast.arguments) -> list[str]:
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
