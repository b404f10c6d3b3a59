from pathlib import Path

import numpy as np
import pytest

from ngo.data.sets.regression import read_sine


def test_the_sine_has_the_stated_noise():
    data = read_sine(Path())
    for x, y in (
        (data.train_inputs, data.train_targets),
        (data.test_inputs, data.test_targets),
    ):
        assert np.abs(x).max() == pytest.approx(np.pi, abs=0.01)
        assert x.std() == pytest.approx(np.pi / 3**0.5, rel=0.02)  # uniform
        noise = y - np.sin(x)
        assert noise.std() == pytest.approx(0.1, rel=0.04)
        assert abs(noise.mean()) < 0.01
        assert abs(np.corrcoef(x.ravel(), noise.ravel())[0, 1]) < 0.06


def test_the_sine_is_the_same_every_time():
    first, second = read_sine(Path()), read_sine(Path())
    for a, b in zip(vars(first).values(), vars(second).values(), strict=True):
        assert a.dtype == np.float32
        assert np.array_equal(a, b)
    assert not set(first.train_inputs[:, 0].tolist()) & set(first.test_inputs[:5, 0].tolist())
