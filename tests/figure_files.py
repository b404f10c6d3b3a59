"""Figures and tables made from their files in papers/*/figures, as a notebook makes them."""

from pathlib import Path

from matplotlib.figure import Figure

from ngo.figures.making import Opened, Output, Tables


def opened(name: str) -> Opened:
    """The file of the figure or table."""
    (path,) = Path("papers").glob(f"*/figures/{name}.py")
    return Opened(path)


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
