"""The figure and table of skew, from made-up runs and partitions."""

import numpy as np
import pandas as pd
import pytest
from figure_files import made, opened
from made_up_combinations import combinations
from runs import digits_run

from ngo.analysis.results import class_counts
from ngo.data.heterogeneity import hellinger_to_global
from ngo.data.partition import samples_by_class
from ngo.training.partition_file import draw, write

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
    output = made("beyond/skew", tmp_path, metrics=runs, classes=counts)
    assert output.picture.stat().st_size > 10_000
    (printed,) = output.tables
    rows = printed.set_index(["β", "Algorithm", "Mixing"])
    assert rows.loc[("10", "sgd", "NGO"), ["Hellinger", "Entropy"]].tolist() == ["0.000", "0.693"]
    assert rows.loc[("0.1", "sgd", "NGO"), ["Hellinger", "Entropy"]].tolist() == ["0.541", "0.000"]
    assert rows.loc[("0.1", "momentum", "capped"), "Gain"].startswith("+5.00")
    caption = (tmp_path / "tables/skew.md").read_text().partition("\n")[0]
    assert caption.endswith("; 4 seeds.")  # of the runs, not of the partitions


def test_a_row_for_each_partition_with_its_fields_and_measures(digits, tmp_path):
    specs = [
        *(digits_run(partition="dirichlet", beta=beta, batch_size=1) for beta in (0.1, 1.0, 10.0)),
        digits_run(),
    ]
    drawn = [draw(spec, digits.labels) for spec in specs]
    for k, spec in enumerate(specs):
        write(tmp_path / f"{k}.parquet", [spec], tmp_path)
    counts = class_counts(tmp_path / f"{k}.parquet" for k in range(4))
    found = opened("beyond/skew").module.heterogeneity(counts)
    assert found["partition"].tolist() == [spec.partition for spec in specs]
    assert found["beta"].tolist()[:3] == [0.1, 1.0, 10.0]
    assert np.isnan(found["beta"][3])
    wanted = [hellinger_to_global(samples_by_class(digits.labels, parts, 10)) for parts in drawn]
    assert found["hellinger"].tolist() == pytest.approx(wanted)
    assert (np.diff(found["hellinger"][:3]) < 0).all()
    assert (np.diff(found["label_entropy"][:3]) > 0).all()
