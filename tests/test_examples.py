"""The examples, and the scripts of benchmarks/, run."""

import sys

import nbformat
import pytest
from conftest import REPOSITORY
from nbclient import NotebookClient
from running import finished, start

from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan


@pytest.mark.slow
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


def test_the_config_of_text_has_each_method_on_one_dialect_and_on_own_ones():
    names = ("config/config.yaml", "examples/text.yaml")
    planned = plan(read_config(REPOSITORY / name for name in names))
    runs = {(spec.method, spec.dialects, spec.partition) for spec in planned.training["text"]}
    assert runs == {
        (method, *data)
        for method in ("dsgd", "ngo", "local_sgd")
        for data in ((1, "iid"), (8, "shards"))
    }
    assert {spec.model for spec in planned.training["adapted"]} == {"gpt_char_lora"}


TABLES = {
    "training_step": "| model | way | ms | of ngo's |",
    "models": "| model | ms | of loop's | of one's | of vmap's | limit | goal |",
    "pfl_cifar10": "| way | samples a second | NGO's, of this |",
    "consensus": "| graph | n | d | way | ms | of a copy's | GB/s |",
    "many_workers": "| n | way | ms | of ngo's |",
    "startup": "| way | ms | of import torch's |",
    "cohorts": "| way | ms | of 100 users's | MB | of 100 users' MB |",
    "fedavg": "| round | ngo | loop | apart |",
}


# Each takes ten seconds or more.
LONG = ("training_step", "models", "pfl_cifar10", "many_workers", "startup", "cohorts", "fedavg")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in TABLES]
)
def test_a_script_prints_its_table(name):
    command = [sys.executable, REPOSITORY / f"benchmarks/{name}.py", "--quick", "--device=cpu"]
    lines = finished(start(command, stdout=-1, text=True)).splitlines()
    assert TABLES[name] in lines


def test_every_script_is_tried():
    others = {"common", "gpu_check", "gpu_ways"}  # tests/test_gpu_check.py
    others |= {"pfl_itself"}  # which pfl_cifar10 starts, where there is pfl
    assert {path.stem for path in (REPOSITORY / "benchmarks").glob("*.py")} == {*TABLES, *others}
