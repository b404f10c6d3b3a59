"""Table S2: negative ELBO."""

import pandas as pd
from made_up import TABLE_S2, cell

from ngo.report.artefacts import tableS2


def test_the_table_and_its_claims_are_saved(tmp_path):
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.5, 0.6, 0.71])
    pd.DataFrame(rows).to_parquet(tmp_path / "metrics.parquet")
    made = tableS2.make(tmp_path / "metrics.parquet", TABLE_S2, tier="test", out=tmp_path)
    printed, verdicts = made.tables
    assert list(printed["Protocol"].unique()) == ["gossip", "ngo"]
    assert printed["Paper"].tolist() == ["124.35", "113.27"]
    assert verdicts["Claim"].tolist() == ["ring ngo < ring gossip"]
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    kinds = ("csv", "md", "tex", "html")
    assert files == {f"tableS2{part}.{kind}" for part in ("", "_claims") for kind in kinds}
    caption = (tmp_path / "tables/tableS2.md").read_text().partition("\n")[0]
    assert caption.startswith("Table S2.")
    assert caption.endswith("Tier test; data: mnist; 3 seeds.")
