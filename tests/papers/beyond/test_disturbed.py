"""The figure and table of disturbed training, from made-up runs."""

import pandas as pd
import pytest
from figure_files import made
from made_up_combinations import combinations

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_training_that_is_disturbed_has_a_row_for_each_disturbance(tmp_path):
    some = combinations().assign(link_failure=0.3)
    runs = pd.concat([combinations(), some.assign(run=some["run"] + "-lossy")])
    output = made("beyond/disturbed", tmp_path, metrics=runs[runs["local_rule"].eq("sgd")])
    (printed,) = output.tables
    assert set(printed["Disturbance"]) == {"none", "failing links, 30%"}
    assert (tmp_path / "figures/disturbed.png").stat().st_size > 10_000
