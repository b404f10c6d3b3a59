"""Table A1: accuracies, losses and hitting times."""

import pandas as pd
from made_up import TABLE_A1, cell

from ngo.report.artefacts import tableA1


def test_the_table_shows_hitting_times_and_runs_that_never_get_there(tmp_path):
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.5, 0.6, 0.71])
    pd.DataFrame(rows).to_parquet(tmp_path / "metrics.parquet")
    made = tableA1.make(
        tmp_path / "metrics.parquet",
        TABLE_A1,
        target_loss_iid=0.5,
        target_loss_noniid=0.7,
        tier="test",
        out=tmp_path,
    )
    (printed,) = made.tables
    assert list(printed["Method"].unique()) == ["gossip", "ngo"]
    assert list(printed["Measure"].unique()) == [
        "test accuracy (%)", "test loss", "training loss", "first hitting time (epochs)"
    ]  # fmt: skip
    times = printed[printed["Measure"] == "first hitting time (epochs)"]
    assert times["Consensus"].tolist() == ["> 3", "2.40"]
    assert times["Reached"].tolist() == ["1 of 3", "3 of 3"]
    assert times["NGO − gossip"].tolist() == ["–", "NGO alone hits"]
    assert set(printed.loc[printed["Measure"] == "test loss", "Reached"]) == {"–"}
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    assert files == {f"tableA1.{kind}" for kind in ("csv", "md", "tex", "html")}
    caption = (tmp_path / "tables/tableA1.md").read_text().partition("\n")[0]
    assert caption.startswith("Table A1.")
    assert "test loss 0.5 (iid) or 0.7 (non-iid)" in caption
    assert caption.endswith("Tier test; data: mnist; 3 seeds.")
