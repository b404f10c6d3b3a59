"""Table S1: spectral gaps."""

import pandas as pd
from made_up import TABLE_S1

from ngo.report.artefacts import tableS1


def test_the_table_is_saved_with_all_rows(tmp_path):
    rows = [
        ("ring", None, 4, 2.0, 2 / 3), ("ring", None, 16, 2.0, 0.0507),
        ("random", 0.4, 4, 1.2, 0.1), ("random", 0.4, 16, 6.0, 0.3),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["topology", "u", "n", "degree", "spectral_gap"])
    table.to_parquet(tmp_path / "metrics.parquet")
    made = tableS1.make(tmp_path / "metrics.parquet", TABLE_S1, tier="test", out=tmp_path)
    (printed,) = made.tables
    assert printed["Topology"].tolist() == ["ring", "ring", "random (u = 0.4)", "random (u = 0.4)"]
    assert printed["Paper"].tolist() == ["0.67", "0.05", "–", "–"]
    assert printed["As printed"].tolist() == ["yes", "yes", "–", "–"]
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == [f"tableS1.{kind}" for kind in ("csv", "html", "md", "tex")]
