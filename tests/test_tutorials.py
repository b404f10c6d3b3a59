"""The pages that only run Python: their cells run in order, and show what their text says."""

import re

import matplotlib
import pytest
from conftest import REPOSITORY

import ngo
from ngo.training.spec import FIELDS

matplotlib.use("Agg")
FIELDS.items()  # declares the fields of all entries, before those of a test

pytestmark = [
    pytest.mark.usefixtures("own_entries"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def run(page, monkeypatch, tmp_path):
    """The variables after the cells of a page; a cell that is to fail raises a UserError."""
    monkeypatch.chdir(tmp_path)
    text = (REPOSITORY / f"docs/{page}.md").read_text(encoding="utf-8")
    found = {}
    for cell in re.findall(r"^```\{code-cell\} python\n(.*?)^```$", text, re.M | re.S):
        if cell.startswith(":tags: [raises-exception]"):
            with pytest.raises(ngo.UserError, match="Did you mean"):
                exec(cell.partition("\n")[2], found)
        else:
            exec(cell, found)
    return found


def last(found, by, column):
    return found["metrics"].groupby(by)[column].last()


def test_start_compares_two_methods(monkeypatch, tmp_path):
    found = run("start", monkeypatch, tmp_path)
    assert last(found, "case", "workers_accuracy_mean").min() > 0.6


def test_own_model_stops_early_and_has_modules(monkeypatch, tmp_path):
    found = run("tutorials/own_model", monkeypatch, tmp_path)
    assert found["short"].stopped == "on_evaluation"
    assert len(found["run"].models) == 8


def test_own_graph_orders_by_the_spectral_gap(monkeypatch, tmp_path):
    found = run("tutorials/own_graph", monkeypatch, tmp_path)
    gaps = [found["rows"][name]["spectral gap"] for name in ("ring", "chords", "complete")]
    accuracies = last(found, "topology", "workers_accuracy_mean")[["ring", "chords", "complete"]]
    assert gaps == sorted(gaps)
    assert accuracies.is_monotonic_increasing
    assert len(found["own"].models) == 10


def test_own_method_is_the_packages_gradient_tracking(monkeypatch, tmp_path):
    found = run("tutorials/own_method", monkeypatch, tmp_path)
    V = last(found, "method", "V")
    assert V["tracking"] == pytest.approx(V["gradient_tracking"], rel=0.01)
    assert V["tracking"] < V["dsgd"] / 10


def test_many_workers_agree_on_the_exponential_graph(monkeypatch, tmp_path):
    found = run("tutorials/many_workers", monkeypatch, tmp_path)
    V = last(found, "topology", "V")
    assert V["exponential"] < V["ring"] / 10


def test_waiting_takes_longer(monkeypatch, tmp_path):
    found = run("tutorials/asynchronous", monkeypatch, tmp_path)
    seconds = last(found, "clock", "virtual_seconds")
    assert seconds["waiting"] > 2 * seconds["asynchronous"]


def test_best_values_are_inside_the_grid(monkeypatch, tmp_path):
    found = run("how_to/fair_comparison", monkeypatch, tmp_path)
    assert set(found["table"]["γ"]) == {1}
