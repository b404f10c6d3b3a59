"""The package's own training step on random images, as the benches time it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ngo.bench.turns import Step, synchronize
from ngo.common.seeding import torch_stream

if TYPE_CHECKING:
    from ngo.data.dataset import Dataset
    from ngo.training.spec import RunSpec

# Of the measured steps; other values cost the same.
GAMMA, P, LR = 0.1, 0.9, 0.05

# Training images of each worker, in batches: few, so that the data fits into memory for any n.
BATCHES = 4


def training_step(
    backend: str, topology: str, *, model: str, n: int, b: int, device: str, **fields: object
) -> Step:
    """Steps of ``n`` workers: batches, gradients, the local rule and the exchange; by default NGO.

    ``fields`` are further fields of the run. The measured part is the exchange.
    """
    import torch

    from ngo.gossip.network import SharedMatrix
    from ngo.training.problem import make_problem
    from ngo.training.stepper import Stepper

    class TimedNetwork(SharedMatrix):
        """A network that adds up the time of exchanges."""

        seconds = 0.0

        @contextmanager
        def timed(self):
            synchronize(device)
            start = time.perf_counter()
            yield
            synchronize(device)
            self.seconds += time.perf_counter() - start

        def pull(self, *args, **how):
            with self.timed():
                super().pull(*args, **how)

        def mix(self, *args):
            with self.timed():
                super().mix(*args)

        def relay(self, *args):
            with self.timed():
                super().relay(*args)

    torch.set_num_threads(1)  # as in training
    spec = make_spec(model, n, b, topology=topology, **fields)
    data = random_images(model, n * b * BATCHES, b, device)
    parts = np.array_split(np.arange(n * b * BATCHES), n)
    stepper = Stepper(spec, make_problem(spec, data, parts), steps=1, backend=backend)
    stepper.network = network = TimedNetwork(stepper.population.spread)

    def step() -> float:
        before = network.seconds
        stepper.advance()
        return network.seconds - before

    return step


def make_spec(model: str, n: int, b: int, **values: object) -> RunSpec:
    """A run of the model for one epoch, by default with NGO."""
    from ngo.training.resolve import resolve
    from ngo.training.spec import DEFAULTS

    common = {"method": "ngo", "lr": LR, "gamma": GAMMA, "p": P, "epochs": 1.0}
    given = {"model": model, "workers": n, "batch_size": b, **values}
    return resolve(given, {**DEFAULTS, **common})


def random_images(model: str, train: int, test: int, device: str = "cpu") -> Dataset:
    """A data set of random images of the model's shape, with 10 classes."""
    import torch

    from ngo.data.dataset import Dataset
    from ngo.models.model import MODELS

    generator = torch_stream(0, "bench")
    arrays = []
    for m in (train, test):
        shape = (m, *MODELS[model].input_shape)
        arrays.append(torch.randint(256, shape, generator=generator, dtype=torch.uint8))
        arrays.append(torch.randint(10, (m,), generator=generator))
    channels = MODELS[model].input_shape[0]
    mean, std = torch.full((channels, 1, 1), 0.5), torch.full((channels, 1, 1), 0.3)
    return Dataset("bench", 10, *(x.to(device) for x in (*arrays, mean, std)))
