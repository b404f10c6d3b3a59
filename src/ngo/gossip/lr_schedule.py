"""Schedules of the learning rate: the factor of η at each step of a run."""

from __future__ import annotations

from collections.abc import Callable

from ngo.common.registry import Registry, load_entries

#: From the share of the run's steps already taken, in [0, 1), to the factor of η.
Factor = Callable[[float], float]

LR_SCHEDULES: Registry[Factor] = Registry("lr_schedule")


def lr_schedule(name: str) -> Callable[[Factor], Factor]:
    """Register a function from the share of steps taken to the factor of the learning rate."""

    def register(factor: Factor) -> Factor:
        LR_SCHEDULES.add(name, factor, factor)
        return factor

    return register


load_entries("ngo.gossip.lr_schedules")
