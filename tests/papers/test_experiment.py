"""The figure of an experiment for which its paper has none."""

import math

import pandas as pd
import pytest
from figure_files import drawn, executed, made, numbers
from made_up import SEEDS, metrics, run

from ngo.analysis.cases import cases
from ngo.analysis.seed_means import part

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def runs(diverged=lambda seed: False, seeds=SEEDS, **fields):
    given = (("centralized", math.nan), ("gossip", 1.0), ("ngo", 0.7), ("ngo", 0.9))
    every = [
        run(0.5 + 0.1 * seed / 2, method=q, p=p, gamma=math.nan if q == "centralized" else 0.1,
            seed=seed, diverged=q == "ngo" and diverged(seed), **fields)
        for q, p in given for seed in seeds
    ]  # fmt: skip
    return metrics(*every)


def test_cases_are_told_apart_by_the_fields_that_vary():
    table = runs()
    assert list(cases(table).unique()) == [
        "centralized", "gossip, p = 1", "ngo, p = 0.7", "ngo, p = 0.9"
    ]  # fmt: skip
    assert set(cases(table[table["method"] == "gossip"])) == {"gossip"}


def test_there_is_a_marker_with_an_interval_for_each_case():
    figure, shown = drawn("experiment", runs())
    ends = part(shown, "ends").query("value == 'accuracy'")
    assert set(ends["seeds"]) == {len(SEEDS)}
    score, shown_ends, index = figure.axes
    markers = [container.lines[0].get_xdata()[0] for container in shown_ends.containers]
    assert markers == pytest.approx(list(ends["mean"]))
    assert [label.get_text() for label in shown_ends.get_yticklabels()] == list(ends["case"])
    assert len(score.lines) >= 4
    assert index.get_yscale() == "log"
    figure.canvas.draw()


def test_what_diverged_is_marked_and_one_seed_has_no_interval():
    for table in (runs(lambda seed: seed == 1), runs(lambda seed: True), runs(seeds=[0])):
        actual = executed("experiment", table)
        actual["figure"].canvas.draw()
        assert len(actual["printed"]) == 4
    lost = executed("experiment", runs(lambda seed: seed == 1))["printed"]
    assert lost["Diverged"].tolist() == ["", "", "1", "1"]


def test_it_is_named_after_its_experiment(tmp_path):
    made("experiment", tmp_path, metrics=runs(), experiment="own")
    files = {path.name for path in tmp_path.glob("*/*")}
    assert files == {f"own.{kind}" for kind in ("png", "pdf", "csv", "md", "tex", "html")}
    assert set(pd.read_csv(tmp_path / "figures/own.csv")["tier"]) == {tmp_path.name}


def test_runs_in_virtual_time_are_drawn_along_it():
    table = runs()
    assert "epoch" in numbers("experiment", table)
    figure, timed = drawn("experiment", table.assign(virtual_seconds=3.0 * table["step"]))
    assert part(timed, "course")["virtual_seconds"].max() == 3 * table["step"].max()
    score, _, index = figure.axes
    assert score.get_xlabel() == index.get_xlabel() == "virtual seconds"
