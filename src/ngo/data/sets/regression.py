"""The paper's regression problems: least squares (Figure 1), and a sine (supplement, Figure S6)."""

import math
from pathlib import Path

import numpy as np

from ngo.common.seeding import numpy_stream
from ngo.data.dataset import Arrays, dataset

TRAIN = 6_400  # the paper's for the sine; assumed for least squares
TEST = 1_600  # assumed: a fifth of all samples; the paper gives no number
FEATURES = 10  # assumed: the paper only says "simple"
NOISE = 1.0  # assumed: as large as one feature's contribution to the target
RANGE = math.pi  # assumed: x on [-π, π], one period
SINE_NOISE = 0.1  # ε ~ N(0, 0.1), with 0.1 read as the standard deviation (assumed)


@dataset("least_squares", train_samples=TRAIN, input_shape=(FEATURES,), classes=None)
def read_least_squares(root: Path) -> Arrays:
    """Targets A x* + ε: standard normal features A, the solution x* and the noise ε are drawn from
    one stream.
    """
    generator, m = numpy_stream(0, "least_squares"), TRAIN + TEST
    inputs = generator.standard_normal((m, FEATURES))
    solution = generator.standard_normal((FEATURES, 1))
    return divided(inputs, inputs @ solution + generator.normal(0, NOISE, (m, 1)))


@dataset("sine", train_samples=TRAIN, input_shape=(1,), classes=None)
def read_sine(root: Path) -> Arrays:
    """Targets sin x + ε: x is drawn uniformly, and ε ~ N(0, 0.1), from the stream (0, "sine")."""
    generator, shape = numpy_stream(0, "sine"), (TRAIN + TEST, 1)
    inputs = generator.uniform(-RANGE, RANGE, shape)
    return divided(inputs, np.sin(inputs) + generator.normal(0, SINE_NOISE, shape))


def divided(inputs: np.ndarray, targets: np.ndarray) -> Arrays:
    """The first samples, for training, and the rest, as float32."""
    inputs, targets = inputs.astype(np.float32), targets.astype(np.float32)
    return Arrays(inputs[:TRAIN], targets[:TRAIN], inputs[TRAIN:], targets[TRAIN:])
