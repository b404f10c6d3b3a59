"""Executing notebooks."""

import nbformat
import pytest
from books import write_book

from ngo.common import plugins
from ngo.pipeline.notebooks import execute

PLUGIN = """
import ngo

@ngo.topology("own_graph")
def own_graph(n):
    return [(0, 1)]
"""


def printed(folder, *cells):
    """What the last cell of an executed notebook prints."""
    execute(write_book(folder / "a.ipynb", *cells), folder / "out.ipynb", [])
    return nbformat.read(folder / "out.ipynb", 4).cells[-1].outputs[0].text


@pytest.mark.usefixtures("own_entries")
def test_the_kernel_has_the_plugins_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    (tmp_path / "own_graph_plugin.py").write_text(PLUGIN)
    plugins.load([tmp_path / "own_graph_plugin.py"])
    cell = "from ngo.gossip.topology import TOPOLOGIES\nprint(TOPOLOGIES['own_graph'].edges(2))"
    assert printed(tmp_path, cell) == "[(0, 1)]\n"


def test_the_kernel_imports_nothing_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ipykernel_launcher", "tabulate", "ipython_config", "ipython_kernel_config"):
        (tmp_path / f"{name}.py").write_text("open('canary', 'w').close()")
    assert printed(tmp_path, "import sys, tabulate\nprint('' in sys.path)") == "False\n"
    assert not (tmp_path / "canary").exists()
