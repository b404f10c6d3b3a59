"""The figure and table of merging once, from made-up runs."""

import pytest
from made_up_prices import prices

from ngo.report.artefacts import merge

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_the_figure_and_the_table_are_saved(tmp_path):
    rows = prices()
    rows["workers_accuracy_mean"] = rows["consensus_accuracy"] - 0.05
    rows["V"] = rows["step"].astype(float)
    rows.to_parquet(tmp_path / "runs.parquet")
    output = merge.make(tmp_path / "runs.parquet", tier="test", out=tmp_path)
    assert output.picture.stat().st_size > 10_000
    (printed,) = output.tables
    assert printed["Gain of merging"].str.startswith("+5.00").all()
    assert len(printed) == 4
