"""Schedules of the learning rate: the factor of η at each step of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ngo.common.options import Options, declare, takes_options
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


@takes_options
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
