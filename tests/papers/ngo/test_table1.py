"""Table 1: test accuracy."""

import pandas as pd
from figure_files import made
from made_up import TABLE1, cell


def test_the_table_is_saved(tmp_path):
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.5, 0.6, 0.71])
    output = made("table1", tmp_path, metrics=pd.DataFrame(rows), reference=TABLE1)
    (printed,) = output.tables
    assert list(printed["Method"].unique()) == ["gossip", "ngo"]
    assert printed["Paper"].tolist() == ["96.47", "96.52"]
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    kinds = ("csv", "md", "tex", "html")
    assert files == {f"table1.{kind}" for kind in kinds}
    caption = (tmp_path / "tables/table1.md").read_text().partition("\n")[0]
    assert caption.startswith("Table 1.")
    assert caption.endswith("Tier test; data: mnist; 3 seeds.")
