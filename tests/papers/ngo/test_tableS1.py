"""Table S1: spectral gaps."""

import pandas as pd
from figure_files import made
from made_up import TABLE_S1

NAMES = ["topology", "u", "n", "draws", "degree", "spectral_gap", "connected_gap"]


def test_the_table_is_saved_with_all_rows(tmp_path):
    rows = [
        ("ring", None, 4, 1, 2.0, 2 / 3, 2 / 3), ("ring", None, 16, 1, 2.0, 0.0507, 0.0507),
        ("random", 0.4, 4, 9, 1.2, 0.1, 0.3), ("random", 0.4, 16, 999, 6.0, 0.3, 0.3),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=NAMES)
    output = made("tableS1", tmp_path, metrics=table, reference=TABLE_S1)
    (printed,) = output.tables
    assert printed["Topology"].tolist() == ["ring", "ring", "random (u = 0.4)", "random (u = 0.4)"]
    assert printed["Paper"].tolist() == ["0.67", "0.05", "–", "–"]
    assert printed["As printed"].tolist() == ["yes", "yes", "–", "–"]
    assert printed["Paper's degree"].tolist() == ["2", "2", "un", "un"]
    assert printed["Degree as printed"].tolist() == ["yes", "yes", "undecided", "no"]
    assert printed["u(n − 1)"].tolist() == ["–", "–", "undecided", "yes"]
    assert printed["Connected"].tolist() == ["0.6667", "0.0507", "0.3000", "0.3000"]
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == [f"tableS1.{kind}" for kind in ("csv", "html", "md", "tex")]
