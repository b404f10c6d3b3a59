"""Theory beside measurement: the figure and the table."""

import pandas as pd
from small_theory import small_table

from ngo.report.artefacts import theory


def test_the_figure_and_the_table_are_made_from_a_file(tmp_path):
    small_table().to_parquet(tmp_path / "metrics.parquet")
    made = theory.make(tmp_path / "metrics.parquet", tier="test", out=tmp_path)
    assert made.picture == tmp_path / "figures/theory.png"
    (printed,) = made.tables
    assert set(printed["Verdict"]) <= {"holds", "fails"}
    assert len(pd.read_csv(tmp_path / "tables/theory.csv")) == len(printed)
    assert set(pd.read_csv(tmp_path / "figures/theory.csv")["tier"]) == {"test"}
