"""Heavy-ball momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.common.fields import below, number
from ngo.gossip.local_rule import local_rule

if TYPE_CHECKING:
    from torch import Tensor

    from ngo.gossip.step import Step
    from ngo.native.elementwise import Chain

MASS = {"momentum": number("momentum μ", 0.9, below(0, 1))}


@local_rule("momentum", matrices=1, chain=True, options=MASS)
def momentum(step: Step) -> Chain:
    """Heavy-ball momentum (Polyak 1964): m_i ← μ m_i + g_i; x_i ← x_i − η m_i.

    As in ``torch.optim.SGD``.
    """

    def descend(x: Tensor, m: Tensor, g: Tensor) -> None:
        m.mul_(step.run.momentum).add_(g)
        x.sub_(m, alpha=step.lr)

    return descend, step.X, step.matrix("momentum"), step.G
