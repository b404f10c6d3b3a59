"""Schedules of the learning rate: the factor of η at each step of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ngo.common.fields import above, number
from ngo.common.options import Options, declare
from ngo.common.registry import Registry
from ngo.gossip.step import Run

#: ``(share, run)`` → the factor of η, after a share of the run's steps in [0, 1).
Factor = Callable[[float, Run], float]


@dataclass(frozen=True)
class LrSchedule:
    """An entry of the registry."""

    factor: Factor
    #: The options that the schedule declares.
    fields: tuple[str, ...] = ()


LR_SCHEDULES: Registry[LrSchedule] = Registry("lr_schedule")


def lr_schedule(
    name: str, *, options: Options | None = None, version: int = 1
) -> Callable[[Factor], Factor]:
    """Register a function ``(share, run)`` → the factor of η, after a share of the run's steps.

    The factor must be above 0. ``options`` are new fields of a run, which it reads as ``run.NAME``.
    ``version`` is raised when its results change.
    """

    def register(factor: Factor) -> Factor:
        fields = declare("lr_schedule", name, options)
        LR_SCHEDULES.add(name, LrSchedule(factor, fields), factor, version)
        return factor

    return register


def learning_rate(run: Run, t: int, steps: int) -> float:
    """η_t at step ``t`` of ``steps``: η times the factors of the schedule and of the warm-up.

    The warm-up is linear under every schedule: (t + 1)/m in the first m = ``warmup`` × ``steps``
    steps (Goyal et al. 2017).
    """
    lr = run.lr * LR_SCHEDULES[run.lr_schedule].factor(t / steps, run)
    return lr if run.warmup == 0 else lr * min(1, (t + 1) / (run.warmup * steps))


@lr_schedule("constant")
def constant(share: float, run: Run) -> float:
    """The same rate in all steps: η_t = η."""
    return 1.0


@lr_schedule("cosine")
def cosine(share: float, run: Run) -> float:
    """Half a cosine, from η to 0: η_t = η (1 + cos(π t / T)) / 2.

    Loshchilov and Hutter 2017, without restarts.
    """
    return (1 + math.cos(math.pi * share)) / 2


DROPS = {
    "lr_drop_factor": number("factor of η at each drop", 0.1, above(0, 1)),
    "lr_first_drop": number("share of the run's steps before the first drop", 0.5, above(0, 1)),
    "lr_second_drop": number(
        "share of the run's steps before the second drop; 1: no second drop", 0.75, above(0, 1)
    ),
}


@lr_schedule("step", options=DROPS)
def step(share: float, run: Run) -> float:
    """Two drops: η_t = η f^k after the k-th, f = ``lr_drop_factor``.

    They come after two shares of the run's steps (as in He et al. 2016).
    """
    drops = (share >= run.lr_first_drop) + (share >= run.lr_second_drop)
    return run.lr_drop_factor**drops
