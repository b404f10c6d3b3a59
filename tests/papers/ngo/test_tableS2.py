"""Table S2: negative ELBO."""

import pandas as pd
from figure_files import made
from made_up import TABLE_S2, cell


def test_the_table_shows_both_models_and_both_losses(tmp_path):
    rows = cell("ring", "gossip", [0.3, 0.4, 0.5], model="mnist_vae")
    rows += cell("ring", "ngo", [0.5, 0.6, 0.7], model="mnist_vae")
    more = cell("ring", "ngo", [0.8, 0.9, 0.85], model="mnist_vae_20")
    runs = {"metrics": pd.DataFrame(rows), "codes": pd.DataFrame(more)}
    (printed,) = made("tableS2", tmp_path, **runs, reference=TABLE_S2).tables
    shown = printed.set_index(["Model", "Measure", "Method"])
    test, training = printed["Measure"].unique()
    assert shown.loc[("mnist_vae", test), "Paper"].tolist() == ["124.35", "113.27"]
    assert shown.loc[("mnist_vae", test, "ngo"), "NGO − gossip"].startswith("−0.20 ±")
    assert shown.loc[("mnist_vae_20", test, "ngo"), "Consensus"].startswith("0.15 ±")
    assert shown.loc[("mnist_vae_20", training, "ngo"), "Workers"].startswith("−0.35 ±")
    files = {path.name for path in (tmp_path / "tables").iterdir()}
    assert files == {f"tableS2.{kind}" for kind in ("csv", "md", "tex", "html")}
    caption = (tmp_path / "tables/tableS2.md").read_text().partition("\n")[0]
    assert caption.startswith("Table S2.")
    assert caption.endswith("Tier test; data: mnist; 3 seeds.")
