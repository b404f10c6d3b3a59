"""The figure of methods and mixers, from made-up runs."""

import pandas as pd
import pytest
from made_up_combinations import combinations

from ngo.analysis.combinations import combination_table
from ngo.figures.combinations import at_an_end, draw_combinations

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_each_method_has_a_row_of_markers():
    figure = draw_combinations(combination_table(combinations()))
    left, right = figure.axes
    labels = [label.get_text() for label in left.get_yticklabels()]
    assert sorted(labels) == ["centralized", "d2", "momentum", "sgd"]
    markers = {bars.get_label(): len(bars[0].get_xdata()) for bars in left.containers}
    assert markers == {"linear": 3, "NGO": 3, "capped": 3, "no coupling": 1}
    gains = {bars.get_label(): sorted(map(float, bars[0].get_xdata())) for bars in right.containers}
    assert gains == {"NGO": pytest.approx([0, 3, 3]), "capped": pytest.approx([0, 5, 5])}


def test_a_row_of_one_graph_among_several_is_named_by_it():
    table = combination_table(combinations())
    graphs = ["ring", "random_matching"] * (len(table) // 2)
    both = table.assign(topology=table["topology"].where(table["topology"].isna(), graphs))
    labels = {label.get_text() for label in draw_combinations(both).axes[0].get_yticklabels()}
    assert "d2, random matching" in labels
    assert "centralized" in labels


def test_best_values_at_an_end_of_those_tried_are_counted():
    table = pd.DataFrame(
        {
            "p": [1.0, 0.8, 0.95],
            "p_tried": ["1", "0.8, 0.95", "0.8, 0.95"],
            "gamma": [1.0, 0.3, 1.3],
            "gamma_tried": ["0.3, 1, 1.3", "0.1, 0.3, 1", "0.3, 1, 1.3"],
            "lr": [0.1, 0.1, 0.1],
            "lr_tried": ["0.1", "0.1", "0.1"],
        }
    )
    assert at_an_end(table).endswith("beyond: p in 2 of 2 rows, γ in 1 of 3 rows. ")
    assert at_an_end(table.head(0)) == ""
