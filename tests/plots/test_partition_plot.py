"""A plot of a partition."""

import numpy as np
import pandas as pd
import pytest

from ngo.plots.partition_plot import draw, in_words, save_partition_plot

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]

COUNTS = np.array([[40, 0, 10], [0, 90, 0], [10, 0, 0], [5, 5, 5]])


def test_a_bar_for_each_worker_and_a_bubble_for_each_class_that_it_owns():
    bars, bubbles = draw(COUNTS).axes
    assert [bar.get_height() for bar in bars.patches] == [50, 90, 10, 15]
    (points,) = bubbles.collections
    owned = {(0, 0), (0, 2), (1, 1), (2, 0), (3, 0), (3, 1), (3, 2)}
    assert {(int(x), int(y)) for x, y in points.get_offsets()} == owned
    area = {
        (int(x), int(y)): s
        for (x, y), s in zip(points.get_offsets(), points.get_sizes(), strict=True)
    }
    assert {key: area[key] / area[1, 1] for key in owned} == pytest.approx(
        {key: COUNTS[key] / 90 for key in owned}
    )
    assert (bubbles.get_xlabel(), bubbles.get_ylabel()) == ("worker", "class")


def test_the_caption_measures_heterogeneity():
    one_each = in_words(5 * np.eye(4, dtype=int))
    assert "5 to 5 samples a worker" in one_each
    assert "to all labels 0.71, between two workers 1.00" in one_each
    assert "label entropy 0.00 of at most 1.39 nats" in one_each


def test_the_files_are_the_same_bytes_each_time_and_have_the_counts(tmp_path):
    for name in ("a", "b"):
        assert save_partition_plot(COUNTS, "made up", tmp_path / name) == tmp_path / f"{name}.png"
    for kind in ("csv", "pdf", "png"):
        first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
        assert first == second
    shown = pd.read_csv(tmp_path / "a.csv")
    assert shown.pivot(index="worker", columns="label", values="samples").to_numpy().tolist() == (
        COUNTS.tolist()
    )
