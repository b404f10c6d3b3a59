"""The notebook of a figure, from its file."""

import ast

import nbformat
import pytest
from conftest import REPOSITORY

from ngo.plots.declaration import read_declared
from ngo.plots.notebook import notebook

GIVEN = {
    "metrics": "results/demo/metrics/price.parquet",
    "network": {"far": {"latency": 1e-05, "bandwidth": 1e6}},
    "target_accuracy": 0.6,
    "tier": 'a "tier"',
    "out": "results/demo",
}


@pytest.fixture
def facts():
    return read_declared(REPOSITORY / "papers/beyond/figures/price.py")


def test_it_is_a_notebook_with_the_text_the_parameters_the_numbers_and_the_drawing(facts):
    book = nbformat.from_dict(notebook(facts, GIVEN))
    nbformat.validate(book)
    assert [cell.id for cell in book.cells] == ["text", "parameters", "numbers", "drawing"]
    text, parameters, numbers, drawing = ("".join(cell.source) for cell in book.cells)
    assert text == f"# {facts.title}\n\n{facts.text}"
    assert book.cells[1].metadata.tags == ["parameters"]
    values = {
        each.targets[0].id: ast.literal_eval(each.value) for each in ast.parse(parameters).body
    }
    assert values == GIVEN
    asked = "metrics=metrics, network=network, target_accuracy=target_accuracy"
    assert f"numbers = figure.numbers({asked})" in numbers
    assert drawing == "figure.save(numbers, tier, out)"


def test_that_of_a_default_figure_names_its_experiment():
    source = REPOSITORY / "src/ngo/plots/default.py"
    book = notebook(read_declared(source).of("own"), {**GIVEN, "metrics": "own.parquet"})
    assert f'Opened("{source}", "own")' in "".join(book["cells"][2]["source"])
