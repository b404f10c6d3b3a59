"""Decentralized SGD: ordinary gossip (Lian et al. 2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import method

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method(
    "dsgd",
    fields=("topology",),
    asynchronous=True,
    coupling="power",
    p=1.0,
    gamma=1.0,
    gamma_decay=0.0,
    local_steps=1,
    delay=0,
)
def dsgd(step: Step) -> None:
    """Decentralized SGD (DSGD; Lian et al. 2017): linear gossip at γ = 1.

    After a half step, each worker takes the mean of its neighbourhood, weighted by W:
    x_i^(t+1) = Σ_j W_ij (x_j − η g_j).
    """
    step.descend()
    step.gossip()
