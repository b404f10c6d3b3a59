"""Stochastic gradient push (SGP; Assran et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import method

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method("push_sum", fields=("topology",), directed=True, sends=("d + 1",), local_steps=1, delay=0)
def push_sum(step: Step) -> None:
    """Stochastic gradient push (SGP; Assran et al. 2019): push sums average on directed graphs.

    x ← W (x − η g), w ← W w for column-stochastic W; gradients are taken at z = x / w. ``step.X``
    is z, for gradients and evaluations.
    """
    import torch

    w = step.matrix("w", columns=1, fill=1.0)
    z = step.X.clone()
    step.descend()
    sums = torch.cat([step.X.sub_(z).add_(z.mul_(w)), w], 1)
    step.network.mix(sums)
    w.copy_(sums[:, -1:])
    torch.div(sums[:, :-1], w, out=step.X)
