"""Schedules of the learning rate: the factor of η at each step of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ngo.common.options import Options, declare, takes_options
from ngo.common.registry import Registry
from ngo.gossip.step import Run

#: From the share of the run's steps already taken, in [0, 1), and the run, to the factor of η.
Factor = Callable[[float, Run], float]


@dataclass(frozen=True)
class LrSchedule:
    """An entry of the registry."""

    factor: Factor
    #: The options that it declares.
    fields: tuple[str, ...] = ()


LR_SCHEDULES: Registry[LrSchedule] = Registry("lr_schedule")


@takes_options
def lr_schedule(name: str, *, options: Options | None = None) -> Callable[[Factor], Factor]:
    """Register a function from the share of steps taken, and the run, to the factor of η.

    The factor must be above 0. ``options`` are fields of a run that it adds, and reads as
    ``run.NAME``.
    """

    def register(factor: Factor) -> Factor:
        fields = declare("lr_schedule", name, options)
        LR_SCHEDULES.add(name, LrSchedule(factor, fields), factor)
        return factor

    return register


def learning_rate(run: Run, t: int, steps: int) -> float:
    """η_t at step ``t`` of ``steps``: η times the factors of the schedule and of the warm-up.

    The warm-up is linear: (t + 1)/m in the first m = ``warmup`` × ``steps`` steps (Goyal et al.
    2017), whatever the schedule.
    """
    lr = run.lr * LR_SCHEDULES[run.lr_schedule].factor(t / steps, run)
    return lr if run.warmup == 0 else lr * min(1, (t + 1) / (run.warmup * steps))
