"""The table and figure of the calibration."""

import pandas as pd
import pytest
from figure_files import drawn, made, opened
from made_up import TABLE1
from made_up_trials import candidate, near_at_two, trials

from ngo.analysis.calibration import CALIBRATED, accuracies

calibration = opened("calibration").module


@pytest.fixture
def tables():
    """The tidy tables of the five experiments."""
    found = {}
    for dataset in ("mnist", "cifar10"):
        runs = trials(dataset)
        kept = runs["topology"].isin(["random", "complete"])
        found |= {dataset: runs[~kept], f"{dataset}_confirm": runs[kept]}
    centralized = (runs["method"] == "centralized") & (runs["partition"] == "iid")
    return {**found, "cifar10_centralized": runs[centralized]}


def test_the_tables_and_the_figure_are_saved(tables, tmp_path):
    output = made("calibration", tmp_path, **tables, reference=TABLE1)
    files = {path.name for path in tmp_path.glob("*/*")}
    tables = ("calibration_ranking", "calibration_cells")
    assert files == {
        "calibration.rst",
        *(f"{name}.{kind}" for name in tables for kind in ("csv", "md", "tex", "html")),
        *(f"calibration.{kind}" for kind in ("png", "pdf", "csv")),
    }
    ranked, cells = output.tables
    assert ranked["Data"].value_counts().to_dict() == {"mnist": 8, "cifar10": 8}
    assert len(cells) == 28
    shown = pd.read_csv(tmp_path / "figures/calibration.csv")
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
        cells = calibration.each_cell(table, calibration.ranking(table))
        spreads = calibration.print_cells(cells)["Std. over seeds"]
        assert (spreads != "–").all() == some
        assert (spreads == "–").all() != some


def test_the_figure_shows_the_nearest_of_each_half(tables):
    figure, numbers = drawn("calibration", **tables, reference=TABLE1)
    figure.canvas.draw()
    assert [axis.get_title() for axis in figure.axes] == [
        "(a) cifar10, iid", "(b) cifar10, non-iid", "(c) mnist, iid", "(d) mnist, non-iid"
    ]  # fmt: skip
    shown = numbers["calibration"]
    gaps = shown["measured"] - shown["paper"]
    assert gaps.groupby(shown["half"]).mean().to_dict() == pytest.approx({"iid": 3, "noniid": 1})
    hollow = [line for line in figure.axes[0].lines if line.get_fillstyle() == "none"]
    assert len(hollow) == 4
