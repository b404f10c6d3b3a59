"""Gradient tracking, with momentum, and with variance reduction."""

from __future__ import annotations

from typing import Any

from ngo.common.fields import below, number
from ngo.common.lazy import torch
from ngo.gossip.method import GOSSIP_FIELDS, ORDERS, method
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

    def track(y: torch.Tensor, g: torch.Tensor, before: torch.Tensor) -> None:
        y.add_(g - before)
        before.copy_(g)
        g.copy_(y)

    step.descend(before=(track, y, step.G, before))
    step.gossip()


MASS = {"tracked_momentum": number("momentum μ, which is tracked", 0.9, below(0, 1))}


@method(
    "momentum_tracking",
    fields=(*GOSSIP_FIELDS, "order"),
    options=MASS,
    sends=("d", "d"),
    matrices=3,
    local_rule="sgd",
    local_steps=1,
    delay=0,
)
def momentum_tracking(step: Step) -> None:
    """Momentum tracking (Takezawa et al. 2022): gradient tracking of momentum, not of gradients.

    u^t = μ u^(t−1) + g^t;  y^t = mix(y^(t−1)) + u^t − u^(t−1);  x^(t+1) = pull(x^t − η y^t).

    The paper (Algorithm 1) writes y as u − c, with c ← mix(c − u) + u. It combines, then adapts,
    x^(t+1) = pull(x^t) − η y^t, which is ``order`` combine_then_adapt. With μ = 0 this is
    ``gradient_tracking``. Two matrices are sent.
    """
    u, y = step.matrix("u"), step.matrix("y")
    if step.t > 0:
        step.network.mix(y, step.gamma)

    def track(u: torch.Tensor, y: torch.Tensor, g: torch.Tensor) -> None:
        y.sub_(u)
        u.mul_(step.run.tracked_momentum).add_(g)
        y.add_(u)
        g.copy_(y)

    step.elementwise((track, u, y, step.G))
    ORDERS[step.run.order](step)


def matrices(run: Any) -> int:
    """With the table of a worker's samples, where the data set is known."""
    from ngo.data.dataset import DATASETS  # its entries import numpy

    return 6 + (run.owned // run.workers if run.dataset in DATASETS else 0)


@method(
    "gt_saga",
    fields=GOSSIP_FIELDS,
    sends=("d", "d"),
    matrices=matrices,
    batch_size=1,
    local_steps=1,
    delay=0,
)
def gt_saga(step: Step) -> None:
    """GT-SAGA (GT-VR; Xin et al. 2020): gradient tracking of gradients without noise in the end.

    r^t = g − a_s + (1/m) Σ_j a_j for the gradient g of the sample s, then a_s ← g;
    y^t = mix(y^(t−1) + r^t − r^(t−1));  x^(t+1) = pull(x^t − η y^t).

    A worker keeps the last gradient a_j of each of its m samples, so the table is as large as m
    models: this is for convex problems with few parameters. One sample is drawn in a step. With a
    constant η all workers reach the exact minimum, where gradient tracking goes on moving. In the
    paper (arXiv 1912.04230, Algorithm 1), s is drawn with replacement and the table begins with the
    gradients at x⁰; here samples come in passes of random order, and the table begins with 0, so
    that no further gradients are needed. Two matrices are sent.
    """
    places, owned = step.samples()  # type: ignore[misc]  # no worker steps alone
    (n, d), most = step.X.shape, int(owned.max())
    y, before, mean = map(step.matrix, ("y", "r", "mean"))
    rows, places = torch.arange(n), places[:, 0]
    table = step.matrix("table", columns=most * d).view(n, most, d)
    change = step.G - table[rows, places]
    table[rows, places] = step.G

    def track(
        y: torch.Tensor,
        g: torch.Tensor,
        before: torch.Tensor,
        mean: torch.Tensor,
        change: torch.Tensor,
    ) -> None:
        g.copy_(change + mean)
        y.add_(g - before)
        before.copy_(g)

    step.elementwise((track, y, step.G, before, mean, change))
    mean.add_(change / owned.to(change)[:, None])
    step.network.mix(y, step.gamma)
    step.G.copy_(y)
    step.descend()
    step.gossip()
