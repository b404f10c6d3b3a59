"""The figure and table of skew, from made-up runs and partitions."""

import pandas as pd
import pytest
from made_up_combinations import combinations

from ngo.report.artefacts import skew

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def parts():
    """Runs at two β, and their partitions: one class each, and the same shares everywhere."""
    runs = [combinations().assign(beta=beta, partition="dirichlet_min") for beta in (0.1, 10.0)]
    runs = [table.assign(run=table["run"] + f"-{k}") for k, table in enumerate(runs)]
    counts = [
        {
            "dataset": "mnist", "partition": "dirichlet_min", "beta": beta, "workers": 2, "seed": 0,
            "worker": worker, "label": label,
            "samples": 10 * (worker == label) if beta < 1 else 5,
        }
        for beta in (0.1, 10.0) for worker in (0, 1) for label in (0, 1)
    ]  # fmt: skip
    return pd.concat(runs, ignore_index=True), pd.DataFrame(counts)


def test_the_figure_and_the_table_are_saved(tmp_path):
    runs, counts = parts()
    runs.to_parquet(tmp_path / "runs.parquet")
    counts.to_parquet(tmp_path / "classes.parquet")
    output = skew.make(
        tmp_path / "runs.parquet", tmp_path / "classes.parquet", tier="test", out=tmp_path
    )
    assert output.picture.stat().st_size > 10_000
    (printed,) = output.tables
    rows = printed.set_index(["β", "Algorithm", "Mixing"])
    assert rows.loc[("10", "sgd", "NGO"), ["Hellinger", "Entropy"]].tolist() == ["0.000", "0.693"]
    assert rows.loc[("0.1", "sgd", "NGO"), ["Hellinger", "Entropy"]].tolist() == ["0.541", "0.000"]
    assert rows.loc[("0.1", "momentum", "capped"), "Gain"].startswith("+5.00")


def test_each_method_and_mixer_has_a_line():
    figure = skew.draw(skew.skew_table(*parts()))
    left, right = figure.axes
    assert len({line.get_label() for line in left.get_lines()}) == 10
    assert len(right.get_lines()) == 6 + 1  # and the line at 0
    colours = {line.get_label(): line.get_color() for line in left.get_lines()}
    for line in right.get_lines()[:6]:
        assert line.get_color() == colours[line.get_label()]
