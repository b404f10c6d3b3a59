"""The examples: the README's ten lines, the notebook, and the plugins."""

import re
import runpy

import matplotlib
import nbformat
import pytest
from conftest import REPOSITORY
from nbclient import NotebookClient

matplotlib.use("Agg")


def readme_code(heading):
    """The first Python block below a heading of the README."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    return re.search(rf"^## {heading}$.*?^```python\n(.*?)^```", text, re.S | re.M)[1]


def test_the_readmes_lines_train_and_plot(tmp_path):
    code = readme_code("From Python")
    assert len([line for line in code.splitlines() if line]) <= 12
    (tmp_path / "example.py").write_text(code)
    found = runpy.run_path(str(tmp_path / "example.py"))
    metrics = found["run"].metrics
    assert metrics["consensus_accuracy"].iloc[-1] > 0.7
    assert len(found["run"].models) == 16
    lines = matplotlib.pyplot.gca().get_lines()
    assert [len(line.get_xdata()) for line in lines] == [len(metrics)] * 2


def test_the_readmes_consensus_example_runs(capsys):
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    exec(re.search(r"```python\n(import torch\nfrom ngo.*?)```", text, re.S)[1], {})
    gap, V = map(float, re.findall(r"\d[\d.e-]*", capsys.readouterr().out)[:2])
    assert gap == pytest.approx(2 / 3 * (1 - 0.8090169943749475))
    assert V < 1


def test_the_notebook_runs_and_its_cells_run_again(tmp_path):
    book = nbformat.read(REPOSITORY / "examples/fit.ipynb", 4)
    for cell in book.cells:
        cell.source = cell.source.replace("epochs = 10", "epochs = 2")
    sources = [cell.source for cell in book.cells if cell.cell_type == "code"]
    book.cells = [nbformat.v4.new_code_cell(source) for source in 2 * sources]
    NotebookClient(book, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in book.cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "stream"]
    for kind, each in (("text/html", 1), ("text/plain", 2), ("image/png", 1)):
        shown = [o.data[kind] for o in outputs if kind in o.data and "<Figure" not in o.data[kind]]
        assert len(shown) >= 2 * each
        assert shown[: len(shown) // 2] == shown[len(shown) // 2 :]
