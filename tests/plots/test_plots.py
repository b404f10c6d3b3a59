"""Making figures and tables, and saving them."""

import numpy as np
import pandas as pd
import pytest
from cases import cases
from made_up import TABLE_A1, cell
from PIL import Image

from ngo import plots
from ngo.analysis.comparisons import HITTING_TIME, TEST_LOSS, comparison_table
from ngo.plots import captions
from ngo.plots.comparisons import print_comparison, with_edge

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_a_log_axis_has_plain_numbers_and_leaves_zero_out():
    figure = plots.new_figure(4)
    axis = figure.subplots()
    plots.log_axis(axis.yaxis)
    axis.plot([0, 1, 2], [0, 2, 30])
    figure.canvas.draw()
    labels = {text.get_text() for text in axis.get_yticklabels(which="both")}
    assert {"2", "5", "10", "20"} <= labels
    assert axis.get_ylim()[0] > 0.5


def test_a_tick_too_near_to_a_label_has_none():
    axis = plots.new_figure(2).subplots()
    plots.value_ticks(axis, [0.01, 0.05, 0.2, 0.4, 0.7, 1], base=10)
    assert len(axis.get_xticks()) == 6
    labels = [label.get_text() for label in axis.get_xticklabels()]
    assert labels == ["0.01", "0.05", "0.2", "0.4", "", "1"]
    plots.value_ticks(axis, [0.6, 0.8, 1, 0.98])
    labels = [label.get_text() for label in axis.get_xticklabels()]
    assert labels == ["0.6", "0.8", "", "1"]
    plots.value_ticks(axis, [], base=10)
    assert len(axis.get_xticks()) == 0


def test_a_figure_is_saved_with_its_data_in_the_same_bytes_each_time(tmp_path):
    shown = pd.DataFrame({"step": [0, 1, 2], "mean": [0.0, 1 / 3, np.nan]})
    for name in ("a", "b"):
        figure = plots.new_figure(2)
        figure.subplots().plot(shown["step"], shown["mean"], label="mean")
        plots.legend(figure, *figure.axes)
        plots.below(figure, "Tier test.")
        picture = plots.save_figure(figure, tmp_path / name / "fig", shown)
        assert picture == tmp_path / name / "fig.png"
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["fig.csv", "fig.pdf", "fig.png"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with Image.open(tmp_path / "a/fig.png") as picture:
        assert picture.info[plots.DESCRIPTION] == "Tier test."
    np.testing.assert_allclose(pd.read_csv(tmp_path / "a/fig.csv")["mean"], shown["mean"])


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_what_a_notebook_cuts_off_is_marked_with_its_number_when_it_is_saved(tmp_path, scale):
    figure = plots.new_figure(2)
    axis = figure.subplots()
    axis.plot([1, 2, 3, 40], [3.0, 5306.2, 4.0, 4.0], "o-", color="red")
    axis.plot([1, 2, 3], [4.0, 3.0, 0.001], markevery=2, marker="s")  # a curve
    axis.axhline(1e12)
    axis.set(yscale=scale, ylim=(1, 10), xlim=(0.5, 4))
    plots.save_figure(figure, tmp_path / "cut", pd.DataFrame())
    assert [text.get_text() for text in axis.texts] == ["40", "5310", "0.001"]
    right = [line for line in axis.lines if line.get_marker() == plots.CARETRIGHTBASE]
    assert [line.get_color() for line in right] == ["red"]


def test_many_marks_at_one_place_become_a_range():
    axis = plots.new_figure(2).subplots()
    for value in (20, 30, 4000, 1e7):
        axis.plot([1], [value], "o")
    axis.plot([0, 2], [0, 0], "o")
    axis.set_ylim(-1, 1)
    plots.mark_outside(axis)
    assert [text.get_text() for text in axis.texts] == ["20", "to 1e7"]


def test_a_table_names_the_data_set_of_the_papers_numbers(tmp_path, monkeypatch):
    """Also from a folder inside the one of the paths."""
    runs = pd.DataFrame({"dataset": ["digits"], "seed": [0]})
    (tmp_path / "paper.csv").write_text("dataset\ncifar10\n")
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    for given in ({}, {"stands_for": "mnist"}):
        told = {"out": tmp_path / "tier", "runs": runs, "reference": "paper.csv", **given}
        plots.save("table", runs, printed=runs.astype(str), caption="Of one seed. ", **told)
        caption = (tmp_path / "tier/tables/table.md").read_text()
        paper = captions.worded(given.get("stands_for", "cifar10"))
        told = "Of one seed. Tier tier; data: digits, in place of the paper's"
        assert caption.startswith(f"{told} {paper}")


def test_an_empty_panel_without_a_label_is_not_shown(tmp_path):
    figure, ((drawn, labelled, empty),) = plots.panels(2, 1, 3)
    drawn.plot([1, 2], [3, 4])
    labelled.set_xlabel("step")
    plots.save_figure(figure, tmp_path / "panels", pd.DataFrame())
    assert [axis.axison for axis in (drawn, labelled, empty)] == [True, True, False]


def test_digits_are_each_criterions_own():
    rows = cell(None, "centralized", [0.9]) + cell("ring", "ngo", [0.8], diverged=[0])
    runs = pd.DataFrame(rows).assign(first_hitting=[np.inf, 1.5, np.inf, np.inf])
    table = comparison_table(runs, TABLE_A1, [TEST_LOSS, HITTING_TIME])
    printed = print_comparison(table)
    assert printed["Measure"].tolist() == ["test loss"] * 2 + ["first hitting time (epochs)"] * 2
    assert printed["Consensus"].tolist() == ["0.100", "–", "1.50", "∞"]
    assert printed["Paper"].tolist() == ["0.26", "0.25", "–", "48"]
    assert printed["Diverged"].tolist() == ["", "1 of 1"] * 2
    assert "Measure" not in print_comparison(table[:2])
    assert "Diverged" not in print_comparison(table[:1])


def test_a_value_at_an_edge_of_the_grid_says_so():
    assert with_edge(0.2, "smallest") == "0.2 (smallest)"
    assert [with_edge(0.2, None), with_edge(np.nan, np.nan)] == ["0.2", "–"]


def test_a_caption_says_what_made_it():
    runs = pd.DataFrame({"dataset": ["digits", "digits"], "seed": [0, 4]})
    told = "Tier demo; data: digits, in place of the paper's MNIST; 2 seeds."
    assert captions.made_by("demo", runs) == told
    mnist = pd.DataFrame({"dataset": ["mnist"], "seed": [0], "train_samples": [60_000]})
    assert captions.made_by("laptop", mnist) == "Tier laptop; data: MNIST; 1 seed."
    told = captions.made_by("laptop", mnist, paper="cifar10")
    assert "data: MNIST, in place of the paper's CIFAR-10;" in told
    assert captions.made_by("paper", mnist, paper="mnist") == "Tier paper; data: MNIST; 1 seed."


def test_seeds_are_counted_by_combination_and_older_runs_lack_fields():
    runs = pd.DataFrame(
        {"dataset": "mnist", "partition": "shards", "method": ["gossip", "ngo", "ngo", "ngo"],
         "seed": [0, 0, 1, 2], "schedule": [None, None, "constant", "constant"]}
    )  # fmt: skip
    assert captions.made_by("laptop", runs).endswith("; 1 to 3 seeds.")


def test_a_caption_says_what_the_runs_had_in_common_and_where_they_vary():
    runs = pd.DataFrame(
        {"dataset": "mnist", "partition": ["iid", "iid", "shards"], "seed": [0, 1, 0],
         "method": ["gossip", "centralized", "ngo"], "gamma": [0.1, None, 0.1],
         "p": [1.0, None, 0.9], "epochs": [4.0, 4.0, 20.0]}
    )  # fmt: skip
    told = "Tier laptop; data: MNIST; γ = 0.1; p = 0.9; 4–20 epochs; 1 seed."
    assert captions.made_by("laptop", runs) == told
    methods = ["ngo", "ngo", "gossip"]
    spread = runs.assign(
        method=methods, p=[0.6, 0.9, 1.0], gamma=[0.1, 0.3, 1.0], epochs=1.0, partition="iid"
    )
    told = "Tier laptop; data: MNIST; γ = 0.1–1; p = 0.6–0.9; 1 epoch; 1 seed."
    assert captions.made_by("laptop", spread) == told
    assert "; p = 1; " in captions.made_by("laptop", spread.assign(p=1.0))


@cases(
    "given, stated",
    ([("d2", 0.9), ("d2", 1), ("ngo", 0.9), ("ngo", 1)], "p = 0.9–1;"),
    ([("d2", 0.9), ("d2", 1), ("gossip", 1)], "p = 0.9–1;"),
    ([("ngo", 0.9), ("ngo", 1)], "p = 0.9–1;"),
    ([("ngo", 1), ("d2", 0.9)], "p = 0.9–1;"),
    ([("d2", 1), ("gossip", 1), ("dsgd", 1), ("ngo", 0.9)], "p = 0.9;"),
    ([("d2", 1), ("gossip", 1), ("centralized", None)], "p = 1;"),
)
def test_a_caption_does_not_hide_that_p_is_1_where_it_was_chosen(given, stated):
    runs = pd.DataFrame(given, columns=["method", "p"]).assign(dataset="mnist", seed=0)
    assert stated in captions.made_by("own", runs)


def test_fewer_than_three_seeds_have_no_intervals():
    one, two, three = (pd.DataFrame({"seed": range(seeds)}) for seeds in (1, 2, 3))
    assert captions.intervals(one) == ""
    assert captions.intervals(two).startswith("Means over seeds; no intervals below 3 seeds")
    assert "95 %, Student t" in captions.intervals(three)
    for runs in (two, three):
        assert "geometric" in captions.intervals(runs)
        assert "geometric" not in captions.intervals(runs, geometric=False)


def test_diverged_runs_are_counted_once():
    rows = pd.DataFrame({"run": ["a", "a", "b", "b"], "diverged": [False, False, True, True]})
    assert captions.diverged(rows).startswith("1 of 2 runs diverged (×)")
    assert captions.diverged(rows, means=False) == "1 of 2 runs diverged (×)."
    assert captions.diverged(rows[:2]) == ""
