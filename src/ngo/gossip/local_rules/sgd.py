"""Stochastic gradient descent (Robbins and Monro 1951)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.local_rule import local_rule

if TYPE_CHECKING:
    from ngo.gossip.step import Step
    from ngo.native.elementwise import Chain


@local_rule("sgd", chain=True)
def sgd(step: Step) -> Chain:
    """Stochastic gradient descent (Robbins and Monro 1951): x_i ← x_i − η g_i."""
    return lambda x, g: x.sub_(g, alpha=step.lr), step.X, step.G
