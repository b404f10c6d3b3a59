"""EXTRA (Shi et al. 2015)."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.step import Step


@method(
    "extra",
    fields=GOSSIP_FIELDS,
    graph="fixed",
    linear_rule=True,
    matrices=3,
    local_steps=1,
    delay=0,
)
def extra(step: Step) -> None:
    """EXTRA (Shi et al. 2015): pull(x) − η g + η c, where ηc is half the sum of all pulls so far.

    x^(t+1) = pull(x^t) − η g^t + η c^t;  c^(t+1) = c^t + (pull(x^t) − x^t)/(2η).

    At p = 1 this is the paper's Algorithm 1, x^(t+2) = (I + W) x^(t+1) − W̃ x^t − η (g^(t+1) −
    g^t), with its choice W̃ = (I + W)/2, and W at the rate γ. The workers combine, then adapt;
    exact diffusion adapts, then combines, and is otherwise the same. The paper has a constant η;
    here c is over η, so that a change of η leaves the workers where they are.
    """
    c, before = step.matrix("c"), step.X.clone()

    def gather(x: torch.Tensor, c: torch.Tensor, pulls: torch.Tensor) -> None:
        x.add_(pulls)
        c.add_(pulls, alpha=0.5 / step.lr)

    step.descend(after=(lambda x, c: x.add_(c, alpha=step.lr), step.X, c))
    pulls = step.G.zero_()  # in the memory of the gradients
    step.add_pulls(pulls, at=before)
    step.elementwise((gather, step.X, c, pulls))
