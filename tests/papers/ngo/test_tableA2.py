"""Table A2: losses."""

import pandas as pd
from figure_files import made
from made_up import TABLE_A2, cell


def test_the_table_is_saved(tmp_path):
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5]) + cell("ring", "ngo", [0.5, 0.6, 0.71])
    output = made("tableA2", tmp_path, metrics=pd.DataFrame(rows), reference=TABLE_A2)
    (printed,) = output.tables
    assert list(printed["Method"].unique()) == ["gossip", "ngo"]
    assert list(printed["Measure"].unique()) == ["test loss", "training loss"]
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    kinds = ("csv", "md", "tex", "html")
    assert files == {f"tableA2.{kind}" for kind in kinds}
    caption = (tmp_path / "tables/tableA2.md").read_text().partition("\n")[0]
    assert caption.startswith("Table A2.")
    assert caption.endswith("Tier test; data: mnist, in place of the paper's cifar10; 3 seeds.")
