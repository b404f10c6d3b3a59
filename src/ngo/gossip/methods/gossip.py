"""NGO (Algorithm 1), and linear gossip, which is the same with p = 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.order import ORDERS

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method(
    "gossip",
    fields=("topology", "gamma", "gamma_decay", "order"),
    asynchronous=True,
    coupling="power",
    p=1.0,
    local_steps=1,
    delay=0,
)
@method("ngo", fields=(*GOSSIP_FIELDS, "order"), asynchronous=True, local_steps=1, delay=0)
def gossip(step: Step) -> None:
    """NGO, and at p = 1 linear gossip: a half step, then a pull between the half-step models.

    x_i^(t+1/2) = x_i − η g_i;  x_i^(t+1) = x_i^(t+1/2) + γ Σ_j W_ij φ_p(x_j − x_i)^(t+1/2).

    This is adapt-then-combine: workers exchange what their half steps give. With ``order``
    combine-then-adapt, they exchange the models at which they have computed their gradients.
    """
    ORDERS[step.run.order](step)
