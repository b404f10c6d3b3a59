"""The table and figure of the calibration."""

import pandas as pd
import pytest
from made_up import TABLE1
from made_up_trials import candidate, near_at_two, trials

from ngo.analysis.calibration import CALIBRATED, accuracies
from ngo.report.artefacts import calibration

NAMES = ("mnist", "mnist_confirm", "cifar10", "cifar10_confirm", "cifar10_centralized")


@pytest.fixture
def tables(tmp_path):
    """The tidy tables of the five experiments, by the notebook's parameters."""
    files = {name: tmp_path / f"{name}.parquet" for name in NAMES}
    for dataset in ("mnist", "cifar10"):
        runs = trials(dataset)
        kept = runs["topology"].isin(["random", "complete"])
        runs[~kept].to_parquet(files[dataset])
        runs[kept].to_parquet(files[f"{dataset}_confirm"])
    centralized = runs[(runs["method"] == "centralized") & (runs["partition"] == "iid")]
    centralized.to_parquet(files["cifar10_centralized"])
    return files


def test_the_tables_and_the_figure_are_saved(tables, tmp_path):
    made = calibration.make(**tables, reference=TABLE1, tier="test", out=tmp_path / "out")
    files = {path.name for path in (tmp_path / "out").rglob("*.*")}
    kinds = {"csv", "md", "tex", "html"}
    assert files == {
        *(f"{name}.{kind}" for name in ("calibration", "calibration_cells") for kind in kinds),
        "calibration.png", "calibration.pdf",
    }  # fmt: skip
    ranked, cells = made.tables
    assert ranked["Data"].value_counts().to_dict() == {"mnist": 8, "cifar10": 8}
    assert len(cells) == 28
    shown = pd.read_csv(tmp_path / "out/figures/calibration.csv")
    assert shown.groupby("dataset").size().to_dict() == {"mnist": 14, "cifar10": 14}


def test_the_nearest_is_printed_first_with_its_values():
    ranked = calibration.both_rankings(accuracies(trials(), TABLE1))
    printed = calibration.print_ranking(ranked)
    assert printed.iloc[0].to_dict() == {
        "Data": "mnist", "Rank": "1", "Training": "SGD, η = 0.05, batch 32", "γ": "0.1",
        "p": "0.9", "Accuracy of": "consensus model", "Epochs": "2", "Distance": "3.00",
        "Iid": "3.00", "Non-iid": "3.00", "Confirmed": "3.00",
    }  # fmt: skip
    own = printed.iloc[4]
    assert (own["Rank"], own["Epochs"], own["Distance"]) == ("1", "2 and 4", "2.24")
    assert printed[printed["γ"] == "0.2"]["Confirmed"].tolist() == ["–"] * 4


def test_a_way_of_training_in_words():
    rows = candidate(
        near_at_two, local_rule="momentum", momentum=0.9, lr_schedule="cosine",
        augmentation="crop_flip", cells=CALIBRATED,
    )  # fmt: skip
    table = accuracies(pd.DataFrame(rows), TABLE1)
    (row,) = table.query("method == 'ngo' and half == 'iid' and reading == 'workers'").to_dict(
        "records"
    )
    words = "momentum 0.9, η = 0.05, batch 32, cosine schedule, crop and flip"
    assert calibration.training(row) == words
    assert calibration.values(row) == f"{words}, γ = 0.1, p = 0.9, 4 epochs, workers' mean"


def test_two_seeds_have_no_spread():
    two = accuracies(trials(), TABLE1)
    three = accuracies(pd.DataFrame(candidate(near_at_two, seeds=(0, 1, 2))), TABLE1)
    for table, some in ((two, False), (three, True)):
        cells = calibration.beside_each_cell(table, calibration.ranking(table))
        spreads = calibration.print_cells(cells)["Std. over seeds"]
        assert (spreads != "–").all() == some
        assert (spreads == "–").all() != some


def test_the_figure_shows_the_nearest_of_each_half():
    table = accuracies(trials(), TABLE1)
    figure, shown = calibration.draw(table, calibration.both_rankings(table))
    figure.canvas.draw()
    assert [axis.get_title() for axis in figure.axes] == ["(a) mnist, iid", "(b) mnist, non-iid"]
    gaps = shown["measured"] - shown["paper"]
    assert gaps.groupby(shown["half"]).mean().to_dict() == pytest.approx({"iid": 3, "noniid": 1})
    hollow = [line for line in figure.axes[0].lines if line.get_fillstyle() == "none"]
    assert len(hollow) == 4
