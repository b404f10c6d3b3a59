"""Quasi-global momentum (QG-DSGDm; Lin et al. 2021)."""

from __future__ import annotations

from typing import Any

from ngo.common.fields import below, number
from ngo.common.lazy import torch
from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.step import Step

HELP = "quasi-global momentum μ, of the half step and of the average"

MASS = {"qg_momentum": number(HELP, 0.9, below(0, 1))}

APART = {
    "qg_beta": number(
        "coefficient β of the quasi-global momentum in a half step", 0.9, below(0, 1)
    ),
    "qg_mu": number("coefficient μ of the average of whole steps", 0.9, below(0, 1)),
}

OTHERS: dict[str, Any] = {"matrices": 2, "local_rule": "sgd", "local_steps": 1, "delay": 0}


@method("quasi_global", fields=GOSSIP_FIELDS, options=MASS, **OTHERS)
def quasi_global(step: Step) -> None:
    """Quasi-global momentum (QG-DSGDm; Lin et al. 2021): momentum of whole steps, with one μ.

    x^(t+1) = pull(x^t − η (g^t + μ m^(t−1)));  m^t = μ m^(t−1) + (1 − μ)(x^t − x^(t+1))/η.

    The number μ, ``qg_momentum``, serves as both coefficients: that of m in the half step (β in
    the paper) and that of the average m.
    """
    _whole_steps(step, step.run.qg_momentum, step.run.qg_momentum)


@method("quasi_global_apart", fields=GOSSIP_FIELDS, options=APART, **OTHERS)
def quasi_global_apart(step: Step) -> None:
    """Quasi-global momentum (QG-DSGDm; Lin et al. 2021) with its two coefficients apart, β and μ.

    x^(t+1) = pull(x^t − η (g^t + β m^(t−1)));  m^t = μ m^(t−1) + (1 − μ)(x^t − x^(t+1))/η.

    β is ``qg_beta``, μ is ``qg_mu``. The paper's experiments have μ = β, which is ``quasi_global``.
    """
    _whole_steps(step, step.run.qg_beta, step.run.qg_mu)


def _whole_steps(step: Step, beta: float, mu: float) -> None:
    m = step.matrix("m")

    def average(m: torch.Tensor, before: torch.Tensor, x: torch.Tensor) -> None:
        m.mul_(mu).add_(before - x, alpha=(1 - mu) / step.lr)

    # After the half step x − η g, the gradients' memory takes the model before it.
    step.descend(
        before=(lambda g, m: g.add_(m, alpha=beta), step.G, m),
        after=(lambda g, x: g.mul_(step.lr).add_(x), step.G, step.X),
    )
    step.gossip()
    step.elementwise((average, m, step.G, step.X))
