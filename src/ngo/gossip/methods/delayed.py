"""NGO with delayed messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import GOSSIP_FIELDS, method

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method(
    "delayed",
    fields=(*GOSSIP_FIELDS, "delay"),
    matrices=lambda run: run.delay + 2,
    needs_every_message="compares models of earlier steps, which must all have been sent",
    local_steps=1,
)
def delayed(step: Step) -> None:
    """NGO with delayed messages: those of step t arrive at step t + τ, τ = ``delay``.

    This is equation "delay", x_i^(t+1) = x_i^(t+1/2) + γ Σ_j W_ij φ_p(x_j − x_i)^(t−τ+1/2). All
    workers agree before the start, so the first τ steps pull nothing.
    """
    step.descend()
    tau = step.run.delay
    if tau == 0:
        step.gossip()
        return
    # A ring of the last τ + 1 half-step models, which stays even if the exchange below fails.
    half = step.matrix(f"sent{step.t % (tau + 1)}").copy_(step.X)
    if step.t < tau:
        step.network.send(half)
    else:
        step.gossip(at=step.matrix(f"sent{(step.t - tau) % (tau + 1)}"))
