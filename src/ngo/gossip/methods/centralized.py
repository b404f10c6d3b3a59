"""Centralized SGD: a parameter server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import method

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method("centralized")
def centralized(step: Step) -> None:
    """SGD with a parameter server: all workers have the same model x.

    x ← x − η (1/n) Σᵢ gᵢ. Each worker sends its gradient and receives the model.
    """
    step.G.copy_(step.network.mean(step.G))
    step.descend()
