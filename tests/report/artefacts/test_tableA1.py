"""Table A1: losses and hitting times."""

import pandas as pd
from made_up import TABLE_A1, cell

from ngo.report.artefacts import tableA1


def test_the_table_and_its_claims_are_saved(tmp_path):
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.5, 0.6, 0.71])
    pd.DataFrame(rows).to_parquet(tmp_path / "metrics.parquet")
    made = tableA1.make(tmp_path / "metrics.parquet", TABLE_A1, tier="test", out=tmp_path)
    printed, verdicts = made.tables
    assert list(printed["Protocol"].unique()) == ["gossip", "ngo"]
    assert list(printed["Measure"].unique()) == [
        "test loss", "training loss", "first hitting time (epochs)"
    ]  # fmt: skip
    assert set(verdicts["Measure"]) == {"test loss", "first hitting time (epochs)"}
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    kinds = ("csv", "md", "tex", "html")
    assert files == {f"tableA1{part}.{kind}" for part in ("", "_claims") for kind in kinds}
    caption = (tmp_path / "tables/tableA1.md").read_text().partition("\n")[0]
    assert caption.startswith("Table A1.")
    assert caption.endswith("Tier test; data: mnist; 3 seeds.")
