"""A CSV file as a data set, with a model of its own."""

from pathlib import Path

import numpy as np

import ngo


@ngo.dataset("flowers", train_samples=120, input_shape=(4,), classes=3)
def flowers(root):
    """Fisher's irises: four lengths in cm, three species. The last 30 rows are the test set."""
    table = np.loadtxt(Path(__file__).with_name("flowers.csv"), delimiter=",", skiprows=1)
    inputs, labels = table[:, :4].astype(np.float32), table[:, 4].astype(np.int64)
    return ngo.Arrays(inputs[:120], labels[:120], inputs[120:], labels[120:])


@ngo.model("flower_net", input_shape=(4,), task="classification")
def flower_net(generator):
    """4 → 16 → 3."""
    from torch import nn

    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
