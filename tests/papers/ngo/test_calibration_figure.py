"""The table and figure of the calibration."""

import pandas as pd
import pytest
from figure_files import functions, made
from made_up import TABLE1
from made_up_trials import trials

from ngo.analysis.calibration import accuracies, rankings

calibration = functions("calibration")


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
        *(f"{name}.{kind}" for name in tables for kind in ("csv", "md", "tex", "html")),
        *(f"calibration.{kind}" for kind in ("png", "pdf", "csv")),
    }
    ranked, cells = output.tables
    assert ranked["Data"].value_counts().to_dict() == {"mnist": 8, "cifar10": 8}
    assert len(cells) == 28
    shown = pd.read_csv(tmp_path / "figures/calibration.csv")
    assert shown.groupby("dataset").size().to_dict() == {"mnist": 14, "cifar10": 14}


def test_the_nearest_is_printed_first_with_its_values():
    ranked = rankings(accuracies(trials(), TABLE1))
    printed = calibration.print_ranking(ranked)
    assert printed.iloc[0].to_dict() == {
        "Data": "mnist", "Rank": "1", "Training": "SGD, η = 0.05, batch 32", "γ": "0.1",
        "p": "0.9", "Accuracy of": "consensus model", "Epochs": "2", "Distance": "3.00",
        "Iid": "3.00", "Non-iid": "3.00", "Confirmed": "3.00",
    }  # fmt: skip
    own = printed.iloc[4]
    assert (own["Rank"], own["Epochs"], own["Distance"]) == ("1", "2 and 4", "2.24")
    assert printed[printed["γ"] == "0.2"]["Confirmed"].tolist() == ["–"] * 4
