from dataclasses import replace

import numpy as np
import torch

from ngo.data.dataset import test_samples as samples_of
from ngo.data.loading import load


def test_classes_are_balanced_and_the_part_is_fixed():
    data = load("digits", ".")
    part = samples_of(data, 103)
    counts = np.bincount(data.test_targets.numpy()[part], minlength=10)
    assert len(set(part)) == 103
    assert (np.diff(part) > 0).all()
    assert set(counts) == {10, 11}
    assert np.array_equal(part, samples_of(data, 103))
    smaller = samples_of(data, 50)
    assert set(smaller) <= set(part), "a smaller part lies within a larger one"


def test_rare_classes_give_all_they_have():
    data = load("digits", ".")
    targets = torch.tensor([0] * 3 + [1] * 20)
    rare = replace(data, test_inputs=data.test_inputs[:23], test_targets=targets)
    counts = np.bincount(targets.numpy()[samples_of(rare, 10)])
    assert counts.tolist() == [3, 7]
