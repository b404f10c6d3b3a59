"""The paper's least-squares problem (Figure 1): targets A x* + ε."""

from pathlib import Path

import numpy as np

from ngo.common.seeding import numpy_stream
from ngo.data.dataset import Arrays, dataset

TRAIN = 6_400  # assumed: as many as in the paper's toy model
TEST = 1_600  # assumed: a fifth of all samples; the paper gives no number
FEATURES = 10  # assumed: the paper only says "simple"
NOISE = 1.0  # assumed: as large as one feature's contribution to the target


@dataset("least_squares", train_samples=TRAIN, input_shape=(FEATURES,), classes=None)
def read_least_squares(root: Path) -> Arrays:
    """Draw standard normal features A, the solution x* and the noise ε from one stream."""
    generator, m = numpy_stream(0, "least_squares"), TRAIN + TEST
    inputs = generator.standard_normal((m, FEATURES))
    solution = generator.standard_normal((FEATURES, 1))
    noise = generator.normal(0, NOISE, (m, 1))
    targets = (inputs @ solution + noise).astype(np.float32)
    inputs = inputs.astype(np.float32)
    return Arrays(inputs[:TRAIN], targets[:TRAIN], inputs[TRAIN:], targets[TRAIN:])
