"""A fixed part of the test set, for the evaluations along a curve."""

from __future__ import annotations

import numpy as np

from ngo.common.seeding import numpy_stream
from ngo.data.dataset import Dataset


def test_samples(data: Dataset, count: int) -> np.ndarray:
    """``count`` indices of test samples, sorted: the same in every run.

    The numbers of samples of two classes differ by one at most, unless a class has too few.
    Regression data are one class. ``count`` must not exceed the size of the test set.
    """
    targets = data.test_targets.cpu().numpy()
    labels = targets if data.classes else np.zeros(len(targets), np.int64)
    order = numpy_stream(0, "test_part").permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    first = np.searchsorted(labels[by_class], labels[by_class])
    place = np.arange(len(labels)) - first  # of each sample within its class
    return np.sort(by_class[np.argsort(place, kind="stable")[:count]])
