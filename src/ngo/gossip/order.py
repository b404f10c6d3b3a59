"""The order of the half step and the pull in a step of gossip."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ngo.common.registry import Registry

if TYPE_CHECKING:
    from ngo.gossip.step import Step

ORDERS: Registry[Callable[[Step], None]] = Registry("order")


def adapt_then_combine(step: Step) -> None:
    """The half step first: x ← pull(x − η g(x))."""
    step.descend()
    step.gossip()


def combine_then_adapt(step: Step) -> None:
    """The pull first: x ← pull(x) − η g(x), with the gradient at the x before it."""
    try:
        step.gossip()
    finally:  # the gradient counts even if the exchange fails
        step.descend()


for each in (adapt_then_combine, combine_then_adapt):
    ORDERS.add(each.__name__, each, each)
