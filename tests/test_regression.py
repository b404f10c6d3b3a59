import numpy as np
import pytest

from ngo import regression


def test_the_sine_has_the_stated_noise():
    for x, y in (regression.sine()[:2], regression.sine()[2:]):
        assert np.abs(x).max() == pytest.approx(np.pi, abs=0.01)
        assert x.std() == pytest.approx(np.pi / 3**0.5, rel=0.02)  # uniform
        noise = y - np.sin(x)
        assert noise.std() == pytest.approx(0.1, rel=0.04)
        assert abs(noise.mean()) < 0.01
        assert abs(np.corrcoef(x.ravel(), noise.ravel())[0, 1]) < 0.06


def test_least_squares_has_one_solution_for_train_and_test():
    features, targets, test_features, test_targets = regression.least_squares()
    solution = np.linalg.lstsq(features, targets, rcond=None)[0]
    for inputs, outputs in ((features, targets), (test_features, test_targets)):
        assert np.cov(inputs.T) == pytest.approx(np.eye(10), abs=0.12)
        assert (outputs - inputs @ solution).std() == pytest.approx(1, rel=0.04)
    assert np.linalg.norm(solution) > 1


@pytest.mark.parametrize("problem", [regression.sine, regression.least_squares])
def test_a_problem_is_the_same_every_time(problem):
    for first, second in zip(problem(), problem(), strict=True):
        assert first.dtype == np.float32
        assert np.array_equal(first, second)
    train, _, test, _ = problem()
    assert not set(train[:, 0].tolist()) & set(test[:5, 0].tolist())
