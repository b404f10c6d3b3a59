from pathlib import Path

import numpy as np
import pytest

from ngo.data.sets.regression import read_least_squares


def test_training_and_test_set_have_one_solution():
    data = read_least_squares(Path())
    solution = np.linalg.lstsq(data.train_inputs, data.train_targets, rcond=None)[0]
    for inputs, targets in (
        (data.train_inputs, data.train_targets),
        (data.test_inputs, data.test_targets),
    ):
        assert np.cov(inputs.T) == pytest.approx(np.eye(10), abs=0.12)
        assert (targets - inputs @ solution).std() == pytest.approx(1, rel=0.04)
    assert np.linalg.norm(solution) > 1


def test_the_problem_is_the_same_every_time():
    first, second = read_least_squares(Path()), read_least_squares(Path())
    for a, b in zip(vars(first).values(), vars(second).values(), strict=True):
        assert a.dtype == np.float32
        assert np.array_equal(a, b)
    assert not set(first.train_inputs[:, 0].tolist()) & set(first.test_inputs[:5, 0].tolist())
