"""Executing notebooks."""

import nbformat
import pytest

from ngo.common import plugins
from ngo.pipeline.notebooks import execute

PLUGIN = """
import ngo

@ngo.topology("own_graph")
def own_graph(n):
    return [(0, 1)]
"""


def notebook(path, *cells, parameters="x = 1"):
    first = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    book = nbformat.v4.new_notebook(cells=[first, *map(nbformat.v4.new_code_cell, cells)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    nbformat.write(book, path)
    return path


@pytest.mark.usefixtures("own_entries")
def test_the_kernel_has_the_plugins_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    (tmp_path / "own_graph_plugin.py").write_text(PLUGIN)
    plugins.load([tmp_path / "own_graph_plugin.py"])
    book = notebook(
        tmp_path / "a.ipynb",
        "from ngo.gossip.topology import TOPOLOGIES\nprint(TOPOLOGIES['own_graph'].edges(2))",
    )
    execute(book, tmp_path / "out.ipynb", [])
    output = nbformat.read(tmp_path / "out.ipynb", 4).cells[-1].outputs[0]
    assert output.text == "[(0, 1)]\n"


def test_the_kernel_imports_nothing_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ipykernel_launcher", "tabulate", "ipython_config", "ipython_kernel_config"):
        (tmp_path / f"{name}.py").write_text("open('canary', 'w').close()")
    book = notebook(tmp_path / "a.ipynb", "import sys, tabulate\nprint('' in sys.path)")
    execute(book, tmp_path / "out.ipynb", [])
    output = nbformat.read(tmp_path / "out.ipynb", 4).cells[-1].outputs[0]
    assert output.text == "False\n"
    assert not (tmp_path / "canary").exists()
