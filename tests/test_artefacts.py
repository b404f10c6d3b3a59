"""Tables and figures as files."""

import re

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import torch

from ngo import graphs, plots, results, tables
from ngo.consensus import simulate
from ngo.seeding import torch_stream


@pytest.fixture
def trajectories():
    X0 = torch.randn(10, 1, generator=torch_stream(0, "states"), dtype=torch.float64)
    W = graphs.mixing_matrix(graphs.ring(10))
    runs = {p: simulate(X0, W, p, 0.02, 100) for p in (0.5, 1.0, 2.0)}
    return pd.concat([results.trajectory_table(p, r.states, r.V) for p, r in runs.items()])


@pytest.fixture
def counts():
    grid = [(w, k, 3 * (w == k)) for w in range(4) for k in range(5)]
    frame = pd.DataFrame(grid, columns=["worker", "label", "samples"])
    return frame.assign(dataset="digits", partition="shards", seed=0)


@pytest.fixture(autouse=True)
def style():
    plots.house_style()
    yield
    plt.close("all")


def test_trajectory_table_keeps_every_state(trajectories):
    part = trajectories[trajectories["p"] == 0.5]
    assert len(part) == 101 * 10
    first = part[part["round"] == 0]
    assert first["V"].nunique() == 1
    assert ((first["x"] - first["x"].mean()) ** 2).sum() == pytest.approx(first["V"].iloc[0])


def test_fig3_shows_each_worker_and_v(trajectories):
    figure = plots.consensus_figure(trajectories, share=0.5)
    *states, index = figure.axes
    assert [axis.get_title() for axis in states] == [
        "sublinear, $p=0.5$", "linear, $p=1$", "superlinear, $p=2$"
    ]  # fmt: skip
    assert [len(axis.lines) for axis in states] == [10, 10, 10]
    V = trajectories[trajectories["p"] == 1].drop_duplicates("round")["V"]
    shown = next(line for line in index.lines if line.get_label() == "$p=1$")
    assert shown.get_ydata().tolist() == V.tolist()
    styles = {line.get_linestyle() for line in index.lines if line.get_linestyle() != "None"}
    assert len(styles) == 3  # told apart without colour
    assert index.get_yscale() == "log"
    assert all(axis.get_xlabel() == "round" for axis in figure.axes)


def test_fig_s2_shows_the_counts_and_the_classes_covered(counts):
    figure = plots.class_figure(counts)
    axis = figure.axes[0]
    assert axis.get_title() == "digits, shards, seed 0: 4 of 5 classes"
    assert axis.collections[0].get_array().sum() == 12
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("worker", "class")


def test_figures_are_the_same_bytes_each_time(tmp_path, trajectories, counts):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for stem, figure, shown in (
            ("fig3", plots.consensus_figure(trajectories, 0.1), trajectories),
            ("figS2", plots.class_figure(counts), counts),
        ):
            plots.caption(figure, "Tier test.")
            plots.save_figure(figure, tmp_path / name / stem, shown)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [f"{s}.{k}" for s in ("fig3", "figS2") for k in ("csv", "pdf", "png")]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    back = pd.read_csv(tmp_path / "a/figS2.csv")
    assert back["samples"].tolist() == counts["samples"].tolist()


def test_a_table_in_three_forms(tmp_path):
    table = pd.DataFrame({"name": ["a_b"], "value": [1 / 3]})
    printed = pd.DataFrame({"Name": ["a_b"], "Mean ± %": ["0.33 ± 0.10"], "−": ["–"]})
    tables.save_table(table, printed, tmp_path / "t", "A caption, 95 %.")
    assert pd.read_csv(tmp_path / "t.csv")["value"].item() == 1 / 3
    markdown = (tmp_path / "t.md").read_text()
    assert markdown.startswith("A caption, 95 %.\n\n| Name")
    assert "| a_b" in markdown
    latex = (tmp_path / "t.tex").read_text()
    assert r"a\_b & 0.33 $\pm$ 0.10 & --" in latex
    assert r"\caption{A caption, 95 \%.}" in latex
    assert r"\toprule" in latex
    assert not re.search(r"[^\x00-\x7f]", latex)


def test_a_caption_says_what_made_the_table():
    runs = pd.DataFrame({"dataset": ["digits", "digits"], "seed": [0, 4]})
    assert tables.made_by("demo", runs) == (
        "Tier demo; data: digits (the paper's numbers are its mnist's); 2 seeds."
    )
    assert "data: mnist; 1 seed." in tables.made_by(
        "laptop", pd.DataFrame({"dataset": ["mnist"], "seed": [0]})
    )


def test_printed_numbers():
    assert tables.plus_minus(62.3, 1.204) == "62.30 ± 1.20"
    assert tables.plus_minus(62.3, float("nan")) == "62.30"
    assert tables.plus_minus(float("nan"), 1.0) == "–"
    assert tables.plus_minus(2.5, 0.5, plus=True) == "+2.50 ± 0.50"
    assert tables.signed(-1) == "−1.00"
    assert tables.signed(-1e-9) == "+0.00"
    assert tables.number(float("nan")) == "–"


def test_every_printed_table_keeps_its_rows():
    spectra = results.spectral_table(["ring", "random"], [4, 16], 0.4, 2, 0)
    compared = results.spectral_comparison(spectra, "config/reference/tableS1_spectral_gap.csv")
    printed = tables.spectra(compared)
    assert printed["Topology"].tolist() == ["ring", "ring", "random (u = 0.4)", "random (u = 0.4)"]
    assert printed["Paper"].tolist() == ["0.67", "0.05", "–", "–"]
    assert printed["As printed"].tolist() == ["yes", "yes", "–", "–"]
