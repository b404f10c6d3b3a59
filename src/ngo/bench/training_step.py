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
    from ngo.models.model import Model
    from ngo.training.problem import Problem
    from ngo.training.spec import RunSpec

# Of the measured steps; other values cost the same.
GAMMA, P, LR = 0.1, 0.9, 0.05

# Training images of each worker, in batches: few, so that the data fits into memory for any n.
BATCHES = 4


def training_step(
    backend: str,
    topology: str,
    *,
    model: str | Model,
    n: int,
    b: int,
    device: str,
    **fields: object,
) -> Step:
    """Steps of ``n`` workers: batches, gradients, the local rule and the exchange; by default NGO.

    ``model`` is a registered one, or one of 10 classes of images that is not registered. ``fields``
    are further fields of the run. The measured part is the exchange.
    """
    import torch

    from ngo.gossip.network import SharedMatrix
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
    problem = random_problem(spec, model, device)
    stepper = Stepper(spec, problem, steps=1, backend=backend)
    stepper.network = network = TimedNetwork(stepper.population.spread)

    def step() -> float:
        before = network.seconds
        stepper.advance()
        return network.seconds - before

    return step


def make_spec(model: str | Model, n: int, b: int, **values: object) -> RunSpec:
    """A run of the model for one epoch, by default with NGO."""
    from ngo.data.dataset import Source
    from ngo.models.model import MODELS
    from ngo.training.resolve import resolve

    common = {"method": "ngo", "lr": LR, "gamma": GAMMA, "p": P, "epochs": 1.0}
    entry = MODELS[model] if isinstance(model, str) else model
    source = Source(None, None, n * b * BATCHES, entry.input_shape, 10)  # type: ignore[arg-type]
    name = model if isinstance(model, str) else "own"
    given = {"dataset": "bench", "model": name, "task": entry.task, "workers": n, "batch_size": b}
    return resolve(
        {**given, **values},
        common,
        source=source,
        model=None if name in MODELS else entry,
    )


def random_problem(spec: RunSpec, model: str | Model, device: str = "cpu") -> Problem:
    """Random images for the model, ``BATCHES`` batches for each worker."""
    from ngo.models.model import MODELS
    from ngo.training.problem import make_problem

    count = spec.workers * spec.batch_size * BATCHES
    data = random_images(model, count, spec.batch_size, device)
    parts = np.array_split(np.arange(count), spec.workers)
    entry = MODELS[model] if isinstance(model, str) else model
    return make_problem(spec, data, parts, model=entry)


def random_images(model: str | Model, train: int, test: int, device: str = "cpu") -> Dataset:
    """A data set of random images of the model's shape, with 10 classes."""
    import torch

    from ngo.data.dataset import Dataset
    from ngo.models.model import MODELS

    input_shape = (MODELS[model] if isinstance(model, str) else model).input_shape
    generator = torch_stream(0, "bench")
    arrays = []
    for m in (train, test):
        shape = (m, *input_shape)
        arrays.append(torch.randint(256, shape, generator=generator, dtype=torch.uint8))
        arrays.append(torch.randint(10, (m,), generator=generator))
    channels = input_shape[0]
    mean, std = torch.full((channels, 1, 1), 0.5), torch.full((channels, 1, 1), 0.3)
    return Dataset("bench", 10, *(x.to(device) for x in (*arrays, mean, std)))
