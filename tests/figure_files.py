"""The notebooks of figures and tables, with tables of a test in place of files."""

import ast
import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import nbformat
from matplotlib.figure import Figure

from ngo import plots
from ngo.pipeline.paths import REPOSITORY, notebook_of


@cache
def cells(name: str) -> tuple[str, ...]:
    """The code cells of the notebook of the NGO paper's figure, or of the one in ``PAPER/NAME``."""
    paper, _, own = name.rpartition("/")
    book = json.loads((REPOSITORY / notebook_of(paper or "ngo", own)).read_text())
    return tuple("".join(each["source"]) for each in book["cells"] if each["cell_type"] == "code")


@cache
def functions(name: str) -> SimpleNamespace:
    """The functions and constants of a notebook, of which nothing else is run."""
    found: dict[str, object] = {}
    for node in ast.parse("\n".join(cells(name)[1:])).body:
        constant = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper()
        if constant or isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef):
            exec(compile(ast.Module([node], []), name, "exec"), found)
    return SimpleNamespace(**found)


def executed(name: str, *tables, count: int | None = None, save: bool = False, **inputs) -> dict:
    """The variables of a notebook after its first ``count`` cells, by default all of them.

    ``tables`` are for its first parameters. Nothing is written without ``save``.
    """
    parameters, *rest = cells(name)
    found: dict[str, object] = {}
    exec(parameters, found)
    known = [key for key in found if key != "__builtins__"]
    assert {*inputs} <= {*known}
    found |= {**dict(zip(known, tables, strict=False)), **inputs}
    for code in rest[:count]:
        tree = ast.parse(code)
        if not save and ast.unparse(tree.body[-1]).startswith("plots.save("):
            tree.body.pop()
        exec(compile(tree, name, "exec"), found)
    return found


def numbers(name: str, *tables, **inputs) -> plots.Tables:
    """The numbers of a notebook."""
    return executed(name, *tables, count=1, **inputs)["numbers"]


def drawn(name: str, *tables, **inputs) -> tuple[Figure, plots.Tables]:
    """The drawing of a figure, and its numbers."""
    found = executed(name, *tables, count=2, **inputs)
    return found["figure"], found["numbers"]


def made(name: str, out: Path, **inputs) -> plots.Saved:
    """The figure, which is no empty page, or table in the folder ``out``, as it was saved."""
    out.mkdir(exist_ok=True)
    kept = []
    save = plots.save
    try:
        plots.save = lambda *given, **named: kept.append(save(*given, **named))
        found = executed(name, save=True, out=out, **inputs)
    finally:
        plots.save = save
    assert "figure" not in found or kept[0].picture.stat().st_size > 10_000
    return kept[0]


def write_book(path: Path, *cells: str, parameters: str = "a = 1", text: str = "") -> Path:
    """A notebook with a text, if given, a cell of parameters, and ``cells`` of code."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    book.cells = [nbformat.v4.new_markdown_cell(text)] if text else []
    book.cells += [nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})]
    book.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)
    return path
