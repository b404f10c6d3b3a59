"""The figure and table of consensus in finite time, from made-up rounds."""

import numpy as np
import pandas as pd
import pytest
from made_up_rounds import by_gamma, made

from ngo.report.artefacts import finite_time

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


@pytest.fixture
def parts(tmp_path):
    """Files of the three measurements."""
    table = made(by_gamma)
    exact = table[(table["p"] == 1) & (table["disturbance"] == "none")]
    tables = {
        "ring": table,
        "matchings": table.assign(topology="alternating_matching"),
        "exact": exact.assign(topology="base_graph"),
    }
    for name, each in tables.items():
        each.to_parquet(tmp_path / f"{name}.parquet")
    return {name: tmp_path / f"{name}.parquet" for name in tables}


def test_the_figure_and_the_table_are_saved(parts, tmp_path):
    output = finite_time.make(**parts, tier="test", out=tmp_path)
    assert output.picture.stat().st_size > 10_000
    shown = pd.read_csv(tmp_path / "figures/finite_time.csv")
    assert set(shown["topology"]) == {"ring", "alternating_matching", "base_graph"}
    (printed,) = output.tables
    rows = printed.set_index(["Disturbance", "Graph", "Mixing"])
    assert len(rows) == 2 * 3 * 2 + 1
    assert rows.loc[("drift 0.1", "ring", "NGO"), "V / linear"].startswith("4.00e+00 [")
    assert rows.loc[("none", "base_graph", "linear"), "Best γ"] == "1"


def test_a_graph_has_a_line_and_a_mixer_has_a_colour(parts):
    table = pd.concat([pd.read_parquet(path) for path in parts.values()], ignore_index=True)
    figure, _ = finite_time.draw(table)
    looks = {
        line.get_label(): (line.get_color(), line.get_linestyle())
        for line in figure.axes[0].get_lines()
    }
    colours = {name: colour for name, (colour, _) in looks.items()}
    assert colours["linear, ring"] == colours["linear, base graph"] != colours["NGO, ring"]
    assert looks["NGO, ring"][1] == looks["capped, ring"][1] != looks["linear, base graph"][1]
    assert len(looks) == 7


def test_a_mixer_that_diverges_is_marked():
    def V(coupling, p, gamma, seed):
        return np.inf if coupling == "capped" else 1.0

    table = made(V)
    printed = finite_time.print_numbers(finite_time.numbers(table)).set_index("Mixing")
    assert set(printed.loc["capped", "V"]) == {"–"}
    figure, _ = finite_time.draw(table)
    words = " ".join(text.get_text() for axis in figure.axes for text in axis.texts)
    assert "4 of 4 diverged" in words
