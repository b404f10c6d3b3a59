"""Nesterov's momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.local_rule import local_rule
from ngo.gossip.local_rules.momentum import MASS

if TYPE_CHECKING:
    from torch import Tensor

    from ngo.gossip.step import Step
    from ngo.native.elementwise import Chain


@local_rule("nesterov", matrices=1, chain=True, options=MASS)
def nesterov(step: Step) -> Chain:
    """Nesterov's momentum (Sutskever et al. 2013): m_i ← μ m_i + g_i; x_i ← x_i − η (g_i + μ m_i).

    As in ``torch.optim.SGD``.
    """
    mu = step.run.momentum

    def descend(x: Tensor, m: Tensor, g: Tensor) -> None:
        m.mul_(mu).add_(g)
        x.sub_(g, alpha=step.lr).sub_(m, alpha=step.lr * mu)

    return descend, step.X, step.matrix("momentum"), step.G
