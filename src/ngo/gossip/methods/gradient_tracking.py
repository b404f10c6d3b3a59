"""Gradient tracking (DSGT; Pu and Nedić 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import GOSSIP_FIELDS, method

if TYPE_CHECKING:
    from torch import Tensor

    from ngo.gossip.step import Step


@method(
    "gradient_tracking", fields=GOSSIP_FIELDS, sends=("d", "d"), matrices=3, local_steps=1, delay=0
)
def gradient_tracking(step: Step) -> None:
    """Gradient tracking (DSGT; Pu and Nedić 2021): pull(x − η y), with y ← mix(y) + g^t − g^(t−1).

    y^t = mix(y^(t−1)) + g^t − g^(t−1);  x^(t+1) = pull(x^t − η y^t).

    y_i estimates the mean gradient; it mixes linearly, y ← y + γ (W y − y). Two matrices are sent.
    There are several forms of gradient tracking. In this one, x adapts, then combines; in DIGing,
    x^(t+1) = mix(x^t) − η y^t. Here and in DIGing, y mixes before the difference of gradients is
    added; in Aug-DGM, their sum mixes.
    """
    y, before = step.matrix("y"), step.matrix("g")
    if step.t > 0:
        step.network.mix(y, step.gamma)

    def track(y: Tensor, g: Tensor, before: Tensor) -> None:
        y.add_(g - before)
        before.copy_(g)
        g.copy_(y)

    step.descend(before=(track, y, step.G, before))
    step.gossip()
