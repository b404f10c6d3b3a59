"""The paper's two regression problems, drawn from fixed streams.

A problem is four float32 arrays: training inputs ``[m, k]`` and targets ``[m, 1]``, then those of a
test set from the same law.
"""

import math
from pathlib import Path

import numpy as np

from ngo.seeding import numpy_stream

TRAIN = 6_400  # the paper's toy model (supplement, Figure S6); assumed of Figure 1's problem
TEST = 1_600  # assumed: a fifth of all points, the paper names none
SINE_RANGE = math.pi  # assumed: x on [-π, π], one period
SINE_NOISE = 0.1  # ε ~ N(0, 0.1), with 0.1 read as the standard deviation (assumed)
LEAST_SQUARES_FEATURES = 10  # assumed: the paper says "simple", and no more
LEAST_SQUARES_NOISE = 1.0  # assumed: of the size of each feature's own share of the target

Problem = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def sine() -> Problem:
    """The toy model y = sin x + ε, ε ~ N(0, 0.1), with x uniform and k = 1 (Figure S6)."""
    generator, shape = numpy_stream(0, "sine"), (TRAIN + TEST, 1)
    x = generator.uniform(-SINE_RANGE, SINE_RANGE, shape)
    return _split(x, np.sin(x) + generator.normal(0, SINE_NOISE, shape))


def least_squares() -> Problem:
    """Targets A x* + ε, with standard normal features A, k = 10, and solution x* (Figure 1)."""
    generator, m = numpy_stream(0, "least_squares"), TRAIN + TEST
    features = generator.standard_normal((m, LEAST_SQUARES_FEATURES))
    solution = generator.standard_normal((LEAST_SQUARES_FEATURES, 1))
    noise = generator.normal(0, LEAST_SQUARES_NOISE, (m, 1))
    return _split(features, features @ solution + noise)


def no_labels(root: Path) -> np.ndarray:
    """Zeros, int64 ``[m]``: what a partition sees of data without classes."""
    return np.zeros(TRAIN, np.int64)


def _split(inputs: np.ndarray, targets: np.ndarray) -> Problem:
    inputs, targets = inputs.astype(np.float32), targets.astype(np.float32)
    return inputs[:TRAIN], targets[:TRAIN], inputs[TRAIN:], targets[TRAIN:]
