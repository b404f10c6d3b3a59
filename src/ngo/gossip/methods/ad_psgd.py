"""Asynchronous pairwise averaging (AD-PSGD; Lian et al. 2018)."""

from __future__ import annotations

from ngo.gossip.method import method
from ngo.gossip.step import Step


@method(
    "ad_psgd",
    fields=("topology",),
    arrivals="pair",
    needs_every_message="has no step that all workers take together",
    local_steps=1,
    delay=0,
)
def ad_psgd(step: Step) -> None:
    """AD-PSGD (Lian et al. 2018): each worker averages with one random neighbour, then descends.

    Algorithm 1: x_i, x_j ← (x_i + x_j) / 2;  x_i ← x_i − η g_i, with the gradient g_i at the model
    that x_i was when its step began. Neighbours are equally likely.
    """
    step.network.average(step.X)
    step.descend()
