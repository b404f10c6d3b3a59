"""What virtual time adds to the time of a run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ngo.bench.costs import Bench, Target
from ngo.bench.scale import SMALL
from ngo.bench.training_step import make_spec, random_problem
from ngo.bench.turns import Step, turns
from ngo.models.model import Model

# Fields of a run, by the name of the way.
STEPS, WAITING = "steps", "waiting"
RANDOM = {"speed": "log_normal", "latency": 0.1}
CLOCKS: dict[str, dict[str, Any]] = {
    STEPS: {},
    WAITING: {"clock": "waiting", **RANDOM},
    "asynchronous, equal speeds": {"clock": "asynchronous"},
    "asynchronous": {"clock": "asynchronous", **RANDOM},
    "asynchronous, queues": {"clock": "asynchronous", **RANDOM, "bandwidth": 1e6},
}

# The model, the workers and the samples of a batch; the limit holds for the first.
CASES: dict[str, tuple[str | Model, int, int]] = {
    "100 parameters": (SMALL, 1000, 32),
    "mnist_cnn": ("mnist_cnn", 100, 32),
}
LIMIT = 1.3

# The steps of all workers that are measured together.
TOGETHER = 8


def virtual(repeats: int = 5) -> Iterator[Bench]:
    """Steps of all workers with each clock, in the time of those without one."""
    for name, (model, n, b) in CASES.items():
        ways = {way: partial(steps, model, n, b, **fields) for way, fields in CLOCKS.items()}
        taken = turns(ways, repeats, name)
        rows = [
            {
                "model": name,
                "n": n,
                "clock": way,
                "us_per_step": taken.seconds(way) / (TOGETHER * n) * 1e6,
                "of_steps": taken.ratio(way, STEPS),
            }
            for way in ways
        ]
        target = Target(f"{name}, n = {n}: asynchronous", taken.ratio("asynchronous", STEPS), LIMIT)
        yield Bench(rows, [target] if name == next(iter(CASES)) else [])


def steps(model: str | Model, n: int, b: int, **fields: Any) -> Step:
    """The steps of a run on a ring."""
    import torch

    from ngo.training.virtual.clock import CLOCKS

    torch.set_num_threads(1)  # as in training
    spec = make_spec(model, n, b, topology="ring", **fields)
    problem = random_problem(spec, model)
    stepper = CLOCKS[spec.clock].stepper(spec, problem, ())

    def step() -> float:
        end = stepper.t + TOGETHER
        while stepper.t < end:
            stepper.advance()
        return 0.0

    return step
