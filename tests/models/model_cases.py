"""What the tests of models share."""

import torch

from ngo.common.seeding import stream_seed, torch_stream
from ngo.models.model import MODELS


def build(name, seed=0):
    """The model with the initial parameters of a run."""
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(seed, "init"))
        return MODELS[name].build(torch_stream(seed, "dropout", 0))


def samples(name, *shape):
    """Random inputs ``[*shape, *input_shape]`` for a model, pixels in [0, 1] for an image."""
    return torch.rand(*shape, *MODELS[name].input_shape, generator=torch_stream(0, "x"))


def shapes(module, x):
    """The shape after each layer that changes it."""
    found = []
    for layer in module:
        before, x = x.shape, layer(x)
        if x.shape != before:
            found.append(tuple(x.shape[1:]))
    return found
