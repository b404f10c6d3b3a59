"""A figure of training runs, from their metrics to its files."""

import pandas as pd

from ngo.figures import plots
from ngo.figures.run_figure import make_run_figure


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


def test_the_caption_is_about_the_runs_of_all_tables(tmp_path):
    rows = {"run": ["a"], "dataset": "digits", "partition": "iid", "diverged": [False]}
    for name, seed in (("first", 0), ("second", 1)):
        table = pd.DataFrame({**rows, "seed": seed, "classes_covered": 10})
        table.to_parquet(tmp_path / f"{name}.parquet")
    figure = plots.new_figure(2)
    paths = [tmp_path / f"{name}.parquet" for name in ("first", "second")]
    make_run_figure(
        "own", lambda runs, more: (figure, more), paths[0], "test", tmp_path, "A note.",
        more=paths[1],
    )  # fmt: skip
    caption = " ".join(text.get_text() for text in figure.texts)
    assert caption.startswith("A note.")
    assert "2 seeds." in caption
    assert pd.read_csv(tmp_path / "figures/own.csv")["seed"].tolist() == [1]
