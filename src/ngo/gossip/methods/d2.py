"""D² (Tang et al. 2018), and exact diffusion (Yuan et al. 2019), which halves each pull."""

from __future__ import annotations

from typing import Any

from ngo.common.lazy import torch
from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.step import Step

ONE_PULL: dict[str, Any] = {"local_steps": 1, "delay": 0}


@method("d2", fields=GOSSIP_FIELDS, graph="fixed", linear_rule=True, matrices=2, **ONE_PULL)
def d2(step: Step) -> None:
    """D² (Tang et al. 2018): gossip with a correction that removes the bias of heterogeneous data.

    x^(t+1) = pull(2x^t − x^(t−1) − η (g^t − g^(t−1))). At p = 1 the smallest eigenvalue of
    (1 − γ)I + γW must be above −1/3: on a ring of ten, γ must be below 1.
    """
    _correct(step, 1)


@method(
    "exact_diffusion", fields=GOSSIP_FIELDS, graph="fixed", linear_rule=True, matrices=2, **ONE_PULL
)
def exact_diffusion(step: Step) -> None:
    """Exact diffusion (Yuan et al. 2019): D² that goes half the way of each pull.

    At p = 1 and γ = 1 the matrix is (I + W)/2. It is stable for every symmetric W. NIDS (Li et al.
    2019) with one step size is the same. With the coupling φ_p its steps are those of D² at γ/2.
    """
    _correct(step, 0.5)


def _correct(step: Step, share: float) -> None:
    """x̂ = x − η g + η c;  x ← x̂ + s pulls(x̂);  c ← c + (s/η) pulls(x̂), with s = ``share``.

    So η_t c^t is (η_t/η_(t−1)) (x^t − ψ^(t−1)), for the half step ψ^t = x^t − η_t g^t. c is over η,
    so that a change of η leaves the workers where they are.
    """
    c = step.matrix("c")

    def gather(x: torch.Tensor, c: torch.Tensor, pulls: torch.Tensor) -> None:
        x.add_(pulls, alpha=share)
        c.add_(pulls, alpha=share / step.lr)

    step.descend(after=(lambda x, c: x.add_(c, alpha=step.lr), step.X, c))
    pulls = step.G.zero_()  # in the memory of the gradients
    step.add_pulls(pulls, at=step.X)
    step.elementwise((gather, step.X, c, pulls))
