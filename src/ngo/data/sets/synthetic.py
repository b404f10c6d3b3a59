"""Drawn data sets: least squares (Figure 1), a sine (Figure S6), and text of Markov chains.

In the text, whose smallest possible loss is known, each author writes in a dialect: a chain of
order two, so that a character depends on the two before it. The probabilities of a dialect are a
mean of those that all dialects have in common and of its own. Everything is drawn from streams of
the seed 0.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ngo.common.fields import number, whole, within
from ngo.common.seeding import numpy_stream
from ngo.data.dataset import Arrays, dataset
from ngo.data.partition import owners

POINTS = 6_400  # the paper's for the sine; assumed for least squares
TEST_POINTS = 1_600  # assumed: a fifth of all samples; the paper gives no number
FEATURES = 10  # assumed: the paper only says "simple"
NOISE = 1.0  # assumed: as large as one feature's contribution to the target
RANGE = math.pi  # assumed: x on [-π, π], one period
SINE_NOISE = 0.1  # ε ~ N(0, 0.1), with 0.1 read as the standard deviation (assumed)


@dataset("least_squares", train_samples=POINTS, input_shape=(FEATURES,), classes=None)
def read_least_squares(root: Path) -> Arrays:
    """Targets A x* + ε: standard normal features A, the solution x* and the noise ε are drawn from
    one stream.
    """
    generator, m = numpy_stream(0, "least_squares"), POINTS + TEST_POINTS
    inputs = generator.standard_normal((m, FEATURES))
    solution = generator.standard_normal((FEATURES, 1))
    return divided(inputs, inputs @ solution + generator.normal(0, NOISE, (m, 1)))


@dataset("sine", train_samples=POINTS, input_shape=(1,), classes=None)
def read_sine(root: Path) -> Arrays:
    """Targets sin x + ε: x is drawn uniformly, and ε ~ N(0, 0.1), from the stream (0, "sine")."""
    generator, shape = numpy_stream(0, "sine"), (POINTS + TEST_POINTS, 1)
    inputs = generator.uniform(-RANGE, RANGE, shape)
    return divided(inputs, np.sin(inputs) + generator.normal(0, SINE_NOISE, shape))


def divided(inputs: np.ndarray, targets: np.ndarray) -> Arrays:
    """The first samples, for training, and the rest, as float32."""
    inputs, targets = inputs.astype(np.float32), targets.astype(np.float32)
    return Arrays(inputs[:POINTS], targets[:POINTS], inputs[POINTS:], targets[POINTS:])


CHARACTERS = 8
LENGTH = 32  # characters of a sample: 31 predictions
TRAIN, TEST = 16_000, 1_600
AUTHORS = 16

# The next character is drawn from probabilities that are drawn from Dir(CONCENTRATION): few of the
# eight characters are likely. Each sample starts after so many characters that are not kept, so
# that its first two have nearly their stationary distribution.
CONCENTRATION = 0.1
BEFORE = 200

DIALECTS, DISTANCE = 8, 0.5
OPTIONS = {
    "dialects": whole("number of dialects of the authors", DIALECTS, within(1, AUTHORS)),
    "dialect_distance": number(
        "share of a dialect's own probabilities; 0: all dialects are the same",
        DISTANCE,
        within(0, 1),
    ),
}


def authors(samples: int) -> np.ndarray:
    """The author of each of so many samples, int64: they take turns."""
    return np.arange(samples, dtype=np.int64) % AUTHORS


def dialect_of(dialects: int) -> np.ndarray:
    """The dialect of each author ``[AUTHORS]``: authors with near numbers share one."""
    return np.arange(AUTHORS) * dialects // AUTHORS


def chains(dialects: int = DIALECTS, dialect_distance: float = DISTANCE) -> np.ndarray:
    """The probability of c after a, b in each dialect, ``[dialects, a, b, c]``."""
    shape = (CHARACTERS, CHARACTERS)

    def drawn(name: str, dialect: int | None = None) -> np.ndarray:
        generator = numpy_stream(0, f"markov_text/{name}", dialect)
        return generator.dirichlet(np.full(CHARACTERS, CONCENTRATION), shape)

    dialect = np.stack([drawn("dialect", k) for k in range(dialects)])
    return (1 - dialect_distance) * drawn("common") + dialect_distance * dialect


@dataset(
    "markov_text",
    read_labels=lambda root: authors(TRAIN),
    train_samples=TRAIN,
    input_shape=(LENGTH,),
    classes=AUTHORS,
    options=OPTIONS,
)
def read_markov_text(
    root: Path, *, dialects: int = DIALECTS, dialect_distance: float = DISTANCE
) -> Arrays:
    """Samples of 32 characters; the label of a sample is its author.

    The numbers by which characters are drawn are the same for all dialects.
    """
    writers = authors(TRAIN + TEST)
    steps = chains(dialects, dialect_distance).cumsum(-1)
    spoken = dialect_of(dialects)[writers]
    generator = numpy_stream(0, "markov_text/text")
    text = np.zeros((BEFORE + LENGTH, len(writers)), np.int64)
    for t in range(2, len(text)):
        after = steps[spoken, text[t - 2], text[t - 1]]
        drawn = (generator.random(len(writers))[:, None] >= after).sum(1)
        text[t] = drawn.clip(max=CHARACTERS - 1)  # a sum of probabilities may round below 1
    inputs = text[BEFORE:].T.astype(np.float32)
    return Arrays(inputs[:TRAIN], writers[:TRAIN], inputs[TRAIN:], writers[TRAIN:])


@owners("markov_text")
def markov_text_owners(root: Path) -> np.ndarray:
    """The author of each training sample."""
    return authors(TRAIN)
