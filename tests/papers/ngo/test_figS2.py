"""Figure S2: samples per class and worker."""

import pandas as pd
import pytest
from figure_files import drawn, opened

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


@pytest.fixture
def counts():
    grid = [(w, k, 3 * (w == k)) for w in range(4) for k in range(5)]
    frame = pd.DataFrame(grid, columns=["worker", "label", "samples"])
    return frame.assign(dataset="digits", partition="shards", seed=0)


def test_fig_s2_shows_the_counts_and_the_classes_covered(counts):
    figure, _ = drawn("figS2", counts)
    axis = figure.axes[0]
    assert axis.get_title() == "digits, shards,\nseed 0: 4 of 5 classes"
    assert axis.collections[0].get_array().sum() == 12
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("worker", "class")


def test_the_caption_counts_samples_and_classes_of_a_worker(counts):
    worker_counts = opened("figS2").module.worker_counts
    assert worker_counts(counts) == "digits: 3 samples of 1 classes a worker."
    counts.loc[(counts["worker"] == 2) & (counts["label"] == 4), "samples"] = 2000
    assert worker_counts(counts) == "digits: 3 to 2,003 samples of 1 to 2 classes a worker."
