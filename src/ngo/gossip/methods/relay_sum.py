"""Relayed sums on trees (RelaySGD; Vogels et al. 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import method

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method(
    "relay_sum",
    fields=("topology",),
    graph="tree",
    sends=("d + 1",),
    matrices=9,
    needs_every_message="relays what it has received",
    local_steps=1,
    delay=0,
)
def relay_sum(step: Step) -> None:
    """RelaySGD (Vogels et al. 2021): sums of models, relayed along a tree, over their number.

    Algorithm 1: m_(i→j) = x_i^(t+1/2) + Σ_(k≠j) m_(k→i)^(t−1);  x_i = (x_i + Σ_j m_(j→i)) / n̄_i.

    n̄_i is the number of models in the sum; messages contain such numbers too. It is n once models
    of all workers have reached worker i, and less in the first steps.
    """
    import torch

    from ngo.common.transfers import sent

    step.descend()
    i, _ = step.network.links()
    received = step.matrix("received", rows=len(i), columns=step.X.shape[1] + 1)
    counted = torch.cat([step.X, torch.ones_like(step.X[:, :1])], 1)
    places = sent(i, step.X.device)
    degrees = sent(torch.bincount(i, minlength=len(step.X)), step.X.device)

    def relayed() -> torch.Tensor:  # the sums of what each worker has received
        return counted + torch.segment_reduce(received, "sum", lengths=degrees, axis=0)

    messages = relayed()[places] - received
    received.copy_(step.network.swap(messages))
    total = relayed()
    torch.div(total[:, :-1], total[:, -1:], out=step.X)
