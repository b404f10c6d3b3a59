"""Figures and tables made from their files in papers/*/figures, as a notebook makes them."""

import inspect
from pathlib import Path

from matplotlib.figure import Figure

from ngo.pipeline.paper import NGO
from ngo.plots.making import Opened, Output, Tables


def opened(name: str) -> Opened:
    """The file of a figure or table: of the NGO paper, or of the one in ``PAPER/NAME``."""
    paper, _, own = name.rpartition("/")
    return Opened(Path("papers", paper or NGO, "figures", f"{own}.py"))


def check(source: Path) -> None:
    """A file has its figure's name, a text of paragraphs, and the functions of its kind."""
    figure = Opened(source)
    facts, module = figure.facts, figure.module
    assert facts.name == source.stem
    paragraphs = facts.text.split("\n\n")
    assert len(paragraphs) >= 2  # what it shows; what the paper says, or the question
    assert all(paragraph.strip() for paragraph in paragraphs)
    given = dict.fromkeys(facts.parameters[:-2])
    inspect.signature(module.numbers).bind(**given)
    assert hasattr(module, "draw") == bool(facts.figures)
    for name in ("show", "caption"):
        assert hasattr(module, name) == bool(facts.tables)
    for name in ("note", "caption"):
        if hasattr(module, name):
            inspect.signature(getattr(module, name)).bind(None, **given)  # takes all inputs


def drawn(name: str, *tables, **inputs) -> tuple[Figure, Tables]:
    """The drawing of the figure from the inputs of its numbers, and the numbers."""
    module = opened(name).module
    numbers = module.numbers(*tables, **inputs)
    return module.draw(numbers), numbers


def made(name: str, out: Path, **inputs) -> Output:
    """The figure or table in the folder ``out``, with its tables of runs read from files."""
    figure = opened(name)
    out.mkdir(exist_ok=True)
    for table in figure.facts.reads:
        path = out / f"{table}.parquet"
        inputs[table].to_parquet(path)
        inputs[table] = path
    return figure.save(figure.numbers(**inputs), "test", out)
