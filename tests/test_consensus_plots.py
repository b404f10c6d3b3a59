import math

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import torch

from ngo import graphs, plots
from ngo.consensus import simulate
from ngo.consensus_plots import consensus_figure, delay_figure, limit_in_rounds
from ngo.dynamics import consensus_rounds, state_rows, trajectory_table
from ngo.seeding import torch_stream

pytestmark = pytest.mark.filterwarnings("error")


def simulated(exponents, delays=(0,), rounds=100, gamma=0.02):
    X0 = torch.randn(10, 1, generator=torch_stream(0, "states"), dtype=torch.float64)
    W = graphs.mixing_matrix(graphs.ring(10))
    tables = []
    for p in exponents:
        for delay in delays:
            run = simulate(X0, W, p, gamma, rounds, delay)
            facts = {"delay": delay, "topology": "ring", "gamma": gamma}
            tables.append(trajectory_table(p, run.states, run.V, **facts))
    return pd.concat(tables, ignore_index=True)


@pytest.fixture(scope="module")
def trajectories():
    return simulated((0.5, 1.0, 2.0))


@pytest.fixture(scope="module")
def delayed():
    return simulated((0.75, 1.0), (0, 20, 50, 70), rounds=300)


@pytest.fixture(autouse=True)
def style():
    plots.house_style()
    yield
    plt.close("all")


def test_trajectory_table_keeps_every_state(trajectories):
    part = trajectories[trajectories["p"] == 0.5]
    assert len(part) == 101 * 10
    assert part[["delay", "topology", "workers", "gamma"]].iloc[0].tolist() == [0, "ring", 10, 0.02]
    first = part[part["round"] == 0]
    assert first["V"].nunique() == 1
    assert ((first["x"] - first["x"].mean()) ** 2).sum() == pytest.approx(first["V"].iloc[0])


def test_a_round_is_a_row_with_all_states(trajectories):
    rows = state_rows(trajectories)
    assert len(rows) == 3 * 101
    row = rows[(rows["p"] == 1) & (rows["round"] == 7)].iloc[0]
    part = trajectories[(trajectories["p"] == 1) & (trajectories["round"] == 7)]
    assert [row[f"x{i}"] for i in range(10)] == part["x"].tolist()
    assert row["V"] == part["V"].iloc[0]


def test_consensus_rounds_are_counted_for_each_p_and_delay():
    V = {(1.0, 0): [8.0, 3.0, 1.0], (1.0, 5): [8.0, 9.0, 7.0]}
    rows = [
        {"p": p, "delay": delay, "round": k, "worker": w, "V": value}
        for (p, delay), values in V.items()
        for k, value in enumerate(values)
        for w in range(2)
    ]
    table = consensus_rounds(pd.DataFrame(rows), 0.5).set_index("delay")
    assert table.loc[0, "first_round"] == 1
    assert math.isnan(table.loc[5, "first_round"])
    assert table["V_final"].tolist() == [1.0, 7.0]


def test_fig3_shows_each_worker_and_v(trajectories):
    figure = consensus_figure(trajectories, share=0.5)
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


def test_the_limit_of_the_delay_is_that_of_the_graph(delayed):
    # A ring's λ_n is (1/3)(2 − 2 cos π) = 4/3 for even n, a complete graph's 1.
    assert limit_in_rounds(delayed) == pytest.approx(math.pi / (2 * 4 / 3) / 0.02)
    assert limit_in_rounds(delayed.assign(topology="complete")) == pytest.approx(math.pi / 0.04)
    assert limit_in_rounds(delayed.assign(topology="random")) == math.inf


def test_fig_s1_shows_v_for_all_delays_and_states_on_either_side_of_the_limit(delayed):
    figure = delay_figure(delayed, share=0.1)
    index, *states = figure.axes[4:]
    assert [axis.get_title() for axis in states] == [
        "$p=1$, $\\tau=0$", "$p=1$, $\\tau=50$", "$p=1$, $\\tau=70$"
    ]  # fmt: skip
    assert [len(axis.lines) for axis in states] == [10, 10, 10]
    curves = [line for line in index.lines if line.get_linestyle() != "None"]
    assert len({line.get_linestyle() for line in curves}) == 4
    labels = [line.get_label() for line in curves]
    assert labels[0] == "$\\tau=0$"
    assert labels[3] == "$\\tau=70=1.2\\,\\tau^*$"
    part = delayed[(delayed["p"] == 1) & (delayed["delay"] == 50)].drop_duplicates("round")
    assert curves[2].get_ydata().tolist() == part["V"].tolist()


def test_a_random_graph_has_no_limit_to_show(delayed):
    figure = delay_figure(delayed.assign(topology="random"), share=0.1)
    assert len(figure.axes) == 2 * 3  # V, the least and the longest delay
    assert figure.axes[0].get_legend_handles_labels()[1][3] == "$\\tau=70$"


def test_figures_are_the_same_bytes_each_time(tmp_path, delayed):
    for name in ("a", "b"):
        figure = delay_figure(delayed, 0.1)
        plots.caption(figure, "Tier test.")
        plots.save_figure(figure, tmp_path / name / "figS1", state_rows(delayed))
    for kind in ("csv", "pdf", "png"):
        assert (tmp_path / f"a/figS1.{kind}").read_bytes() == (
            tmp_path / f"b/figS1.{kind}"
        ).read_bytes()
