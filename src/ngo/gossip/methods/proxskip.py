"""ProxSkip on a graph (Mishchenko et al. 2022)."""

from __future__ import annotations

from ngo.common.fields import number, within
from ngo.common.lazy import torch
from ngo.common.seeding import torch_stream
from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.step import Step

CHANCE = {
    "exchange_probability": number(
        "probability that the workers exchange in a step", 0.5, within(1e-6, 1)
    )
}


@method(
    "proxskip",
    fields=GOSSIP_FIELDS,
    options=CHANCE,
    graph="fixed",
    linear_rule=True,
    matrices=3,
    local_steps=1,
    delay=0,
)
def proxskip(step: Step) -> None:
    """ProxSkip (Mishchenko et al. 2022): local steps with control variates, seldom an exchange.

    x̂ = x − η (g − h). With probability q = ``exchange_probability``, x ← pull(x̂) and
    h ← h + (q/η)(x − x̂); otherwise x ← x̂.

    This is the paper's decentralized form, with (1 − γ)I + γW as its matrix; on a complete graph at
    γ = 1 it is Scaffnew (Algorithm 2). With q = 1 its steps are those of D². All workers toss one
    coin for a step, from a stream that is keyed by the seed and the step.
    """
    h, q = step.matrix("h"), step.run.exchange_probability
    step.descend(after=(lambda x, h: x.add_(h, alpha=step.lr), step.X, h))
    coin = torch_stream(step.run.seed, "exchanges", step.t)
    if float(torch.rand((), generator=coin, dtype=torch.float64)) >= q:
        return

    def gather(h: torch.Tensor, x: torch.Tensor, pulls: torch.Tensor) -> None:
        h.add_(pulls, alpha=q / step.lr)
        x.add_(pulls)

    pulls = step.G.zero_()  # in the memory of the gradients
    step.add_pulls(pulls, at=step.X)
    step.elementwise((gather, h, step.X, pulls))
