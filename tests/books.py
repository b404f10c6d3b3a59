"""Small notebooks."""

from pathlib import Path

import nbformat


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
