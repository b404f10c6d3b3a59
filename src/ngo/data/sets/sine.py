"""The paper's toy regression problem (supplement, Figure S6): y = sin x + ε."""

import math
from pathlib import Path

import numpy as np

from ngo.common.seeding import numpy_stream
from ngo.data.dataset import Arrays, dataset

TRAIN = 6_400  # the paper's
TEST = 1_600  # assumed: a fifth of all samples; the paper gives no number
RANGE = math.pi  # assumed: x on [-π, π], one period
NOISE = 0.1  # ε ~ N(0, 0.1), with 0.1 read as the standard deviation (assumed)


@dataset("sine", train_samples=TRAIN, input_shape=(1,), classes=None)
def read_sine(root: Path) -> Arrays:
    """Draw x uniformly, and ε ~ N(0, 0.1), from the stream (0, "sine")."""
    generator, shape = numpy_stream(0, "sine"), (TRAIN + TEST, 1)
    inputs = generator.uniform(-RANGE, RANGE, shape)
    targets = np.sin(inputs) + generator.normal(0, NOISE, shape)
    inputs, targets = inputs.astype(np.float32), targets.astype(np.float32)
    return Arrays(inputs[:TRAIN], targets[:TRAIN], inputs[TRAIN:], targets[TRAIN:])
