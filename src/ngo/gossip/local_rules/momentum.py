"""Heavy-ball momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.fields import below, number
from ngo.gossip.local_rule import local_rule

if TYPE_CHECKING:
    from ngo.gossip.step import Step

MASS = {"momentum": number("momentum μ", 0.9, below(0, 1))}


@local_rule("momentum", options=MASS)
def momentum(step: Step) -> None:
    """Heavy-ball momentum (Polyak 1964): m_i ← μ m_i + g_i; x_i ← x_i − η m_i.

    As in ``torch.optim.SGD``.
    """
    m = step.matrix("momentum")
    m.mul_(step.run.momentum).add_(step.G)
    step.X.sub_(m, alpha=step.lr)
