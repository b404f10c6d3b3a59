"""The figure and table of disturbed training, from made-up runs."""

import numpy as np
import pandas as pd
import pytest
from figure_files import made, opened
from made_up_combinations import combinations

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_training_that_is_disturbed_has_a_row_for_each_disturbance(tmp_path):
    some = combinations().assign(link_failure=0.3)
    runs = pd.concat([combinations(), some.assign(run=some["run"] + "-lossy")])
    output = made("beyond/disturbed", tmp_path, metrics=runs[runs["local_rule"].eq("sgd")])
    (printed,) = output.tables
    assert set(printed["Disturbance"]) == {"none", "failing links, 30%"}
    assert (tmp_path / "figures/disturbed.png").stat().st_size > 10_000


def test_a_disturbance_is_named_by_what_is_not_neutral():
    rows = pd.DataFrame(
        {
            "delay": [0, 5, 0, np.nan, 0],
            "link_failure": [0.0, 0.0, 0.3, np.nan, 0.1],
            "absence": [0.0, 0.0, 0.0, np.nan, 0.2],
            "compression": ["none", None, None, "top_k", None],
            "kept_share": [np.nan, np.nan, np.nan, 0.01, np.nan],
        }
    )
    assert opened("beyond/disturbed").module.disturbances(rows).tolist() == [
        "none", "late messages, τ = 5", "failing links, 30%", "compression, top_k 1%",
        "failing links, 10%; absent workers, 20%",
    ]  # fmt: skip
