"""The paper's numbers beside ours."""

import math

import pandas as pd
import pytest
from made_up import TABLE1, TABLE_A2, cell

from ngo.analysis import published


@pytest.mark.parametrize(
    ("dataset", "reference", "column", "number"),
    [
        ("mnist", TABLE1, "test_accuracy_percent", 64.84),
        ("digits", TABLE1, "test_accuracy_percent", 64.84),  # stands in for MNIST
        ("cifar10", TABLE1, "test_accuracy_percent", 34.14),
        ("sine", TABLE1, "test_accuracy_percent", math.nan),
        ("mnist", TABLE_A2, "value", 0.50),  # there are numbers of CIFAR-10 alone
        ("digits", TABLE_A2, "value", 0.50),
    ],
)
def test_the_papers_number_beside_ours(dataset, reference, column, number):
    rows = pd.DataFrame(cell("ring", "ngo", [0.5], partition="shards", dataset=dataset)[-1:])
    found = published.published_for(rows, reference, column)
    assert found.tolist() == pytest.approx([number], nan_ok=True)


def test_the_data_set_of_the_papers_numbers():
    assert published.sole_dataset(TABLE_A2) == "cifar10"
    assert published.sole_dataset(TABLE1) is None
