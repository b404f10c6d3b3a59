"""The share of a run that is neither a training step nor a forward pass."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from ngo.bench.costs import Bench, Target
from ngo.bench.training_step import make_spec, random_images, training_step
from ngo.bench.turns import Step, turns

TRAIN, TEST = 60_000, 10_000  # images, as many as MNIST has


def run_overhead(repeats: int = 5) -> Bench:
    """A run of one epoch with 10 workers, and the same number of steps and forward passes alone."""
    case = {"model": "mnist_cnn", "n": 10, "b": 32, "device": "cpu"}
    ways = {"run": partial(run_then_work, **case)}
    taken = turns(ways, repeats, "a whole run", least=0)
    share, both = taken.share("run"), taken.seconds("run")
    rows = [
        {**case, "way": "run", "seconds": both * (1 - share)},
        {**case, "way": "its steps and forward passes", "seconds": both * share},
    ]
    rest = 1 - share / (1 - share)
    return Bench(rows, [Target("run: all but steps and forward passes, share", rest, 0.1)])


def run_then_work(*, model: str, n: int, b: int, device: str) -> Step:
    """A run, and then, as the measured part, its steps and forward passes alone."""
    import torch

    from ngo.training.loop import Training
    from ngo.training.problem import make_problem

    torch.set_num_threads(1)
    spec = make_spec(model, n, b, topology="ring")
    data = random_images(model, TRAIN, TEST, device)
    problem = make_problem(spec, data, np.array_split(np.arange(TRAIN), n))
    one = training_step("auto", "ring", model=model, n=n, b=b, device=device)
    population = Training(spec, problem).population
    inputs, _ = problem.test
    # The first evaluation passes one model, since all workers agree; the last one n and their mean.
    models = [population.models()[0], *population.models()]
    for module in models:
        module.eval()

    @torch.no_grad()
    def forward(k: int) -> None:
        models[k // len(inputs)](inputs[k % len(inputs)])

    def step() -> float:
        training = Training(spec, problem)
        training.proceed()
        start = time.perf_counter()
        for _ in range(training.steps):
            one()
        population.spread(forward, len(models) * len(inputs))
        return time.perf_counter() - start

    return step
