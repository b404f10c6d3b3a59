"""Relayed sums on trees (RelaySGD; Vogels et al. 2021)."""

from __future__ import annotations

from ngo.gossip.method import method
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
    of all workers have reached worker i, and less in the first steps. RelaySGD with momentum is
    this with the local rule ``nesterov``, as in its authors' code.
    """
    step.descend()
    edges, columns = step.network.links().shape[1], step.X.shape[1] + 1
    step.network.relay(step.X, step.matrix("received", rows=edges, columns=columns))
