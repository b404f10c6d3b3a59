"""Stochastic gradient descent (Robbins and Monro 1951)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.local_rule import local_rule

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@local_rule("sgd")
def sgd(step: Step) -> None:
    """Stochastic gradient descent (Robbins and Monro 1951): x_i ← x_i − η g_i."""
    step.X.sub_(step.G, alpha=step.lr)
