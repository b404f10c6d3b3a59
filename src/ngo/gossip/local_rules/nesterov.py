"""Nesterov's momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.local_rule import local_rule
from ngo.gossip.local_rules.momentum import MASS

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@local_rule("nesterov", options=MASS)
def nesterov(step: Step) -> None:
    """Nesterov's momentum (Sutskever et al. 2013): m_i ← μ m_i + g_i; x_i ← x_i − η (g_i + μ m_i).

    As in ``torch.optim.SGD``.
    """
    import torch

    m, mu = step.matrix("momentum"), step.run.momentum
    torch.add(step.G, m, alpha=mu, out=m)  # one pass over memory
    step.X.sub_(step.G, alpha=step.lr).sub_(m, alpha=step.lr * mu)
