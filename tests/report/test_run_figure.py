"""A figure of training runs, from their metrics to its files."""

import pandas as pd

from ngo.report import plots
from ngo.report.run_figure import make_run_figure


def test_the_figure_is_captioned_and_saved_with_the_data_shown(tmp_path):
    rows = {"run": list("abc"), "dataset": "digits", "partition": "iid", "seed": [0, 1, 2]}
    rows |= {"diverged": [False, True, False], "classes_covered": 10, "gamma": 0.1}
    pd.DataFrame(rows).to_parquet(tmp_path / "metrics.parquet")
    figure = plots.new_figure(2)
    shown = pd.DataFrame({"V": [1.0]})
    made = make_run_figure(
        "own", lambda runs: (figure, shown), tmp_path / "metrics.parquet", "test", tmp_path
    )
    assert made.picture == tmp_path / "figures/own.png"
    assert pd.read_csv(tmp_path / "figures/own.csv").to_dict("list") == {
        "V": [1.0],
        "tier": ["test"],
    }
    caption = " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert "95 % Student t intervals over seeds" in caption
    assert "1 of 3 runs diverged" in caption
    assert "Tier test; data: digits" in caption
    assert "γ = 0.1; 3 seeds." in caption
