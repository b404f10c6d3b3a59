"""Centralized SGD: a parameter server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import method

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method("centralized")
def centralized(step: Step) -> None:
    """X ← x − η (1/n) Σᵢ gᵢ at one shared x; each worker sends a gradient, receives the model."""
    step.G.copy_(step.network.mean(step.G))
    step.descend()
