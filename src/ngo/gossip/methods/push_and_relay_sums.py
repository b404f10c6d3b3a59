"""Push-sum, for directed graphs, and sums that are relayed along trees."""

from __future__ import annotations

from ngo.common.lazy import torch
from ngo.gossip.method import ONE_EXCHANGE, method
from ngo.gossip.step import Step


@method(
    "push_sum", fields=("topology",), directed=True, joint=True, sends=("d + 1",), **ONE_EXCHANGE
)
def push_sum(step: Step) -> None:
    """Stochastic gradient push (SGP; Assran et al. 2019): push sums average on directed graphs.

    x ← W (x − η g), w ← W w for column-stochastic W; gradients are taken at z = x / w. ``step.X``
    is z, for gradients and evaluations.
    """
    z, w = step.X, step.matrix("w", columns=1, fill=1.0)
    sums = z.new_empty(len(z), z.shape[1] + 1)
    x = sums[:, :-1]
    # x = w z − η g = (w − 1) z + (z − η g)
    step.descend(
        before=(lambda x, z, w: x.copy_(z * (w - 1)), x, z, w), after=(lambda x, z: x.add_(z), x, z)
    )
    sums[:, -1:] = w
    step.network.mix(sums)
    w.copy_(sums[:, -1:])
    step.elementwise((lambda z, x, w: z.copy_(x / w), z, x, w))


@method(
    "async_push_sum",
    fields=("topology",),
    arrivals="all",
    directed=True,
    sends=("d + 1",),
    **ONE_EXCHANGE,
)
def async_push_sum(step: Step) -> None:
    """Asynchronous push-sum (Assran et al. 2019): a worker adds up all the mass that has arrived.

    z ← z − η g, then x = w z and w are divided among the neighbours: x ← W x, w ← W w, z = x / w.
    ``step.X`` is z. Unlike in ``push_sum``, the gradient's step counts with the weight w: it is η
    long for a fast worker too, whose weight halves with each step while nothing arrives, and a slow
    worker, to which mass has come meanwhile, moves the common mean farther.
    """
    w = step.matrix("w", columns=1, fill=1.0)
    step.descend()
    sums = torch.cat([step.X * w, w], 1)
    step.network.mix(sums)
    w.copy_(sums[:, -1:])
    # A weight so small that it is 0 leaves the model as it is, until mass arrives.
    step.X.copy_(torch.where(w > 0, sums[:, :-1] / w, step.X))


@method(
    "relay_sum",
    fields=("topology",),
    graph="tree",
    sends=("d + 1",),
    needs_every_message="relays what it has received",
    **ONE_EXCHANGE,
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
