"""D² (Tang et al. 2018), and exact diffusion (Yuan et al. 2019), which halves each pull."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngo.gossip.method import GOSSIP_FIELDS, method

if TYPE_CHECKING:
    from torch import Tensor

    from ngo.gossip.step import Step

ONE_PULL: dict[str, Any] = {"local_steps": 1, "delay": 0}


@method("d2", fields=GOSSIP_FIELDS, graph="fixed", linear_rule=True, matrices=2, **ONE_PULL)
def d2(step: Step) -> None:
    """D² (Tang et al. 2018): gossip with a correction that removes the bias of heterogeneous data.

    x^(t+1) = pull(2x^t − x^(t−1) − η (g^t − g^(t−1))). At p = 1 the smallest eigenvalue of
    (1 − γ)I + γW must be above −1/3: on a ring of ten, γ must be below 1.
    """
    _correct(step)
    step.gossip()


@method(
    "exact_diffusion", fields=GOSSIP_FIELDS, graph="fixed", linear_rule=True, matrices=3, **ONE_PULL
)
def exact_diffusion(step: Step) -> None:
    """Exact diffusion (Yuan et al. 2019): D² that goes half the way of each pull.

    At p = 1 and γ = 1 the matrix is (I + W)/2. It is stable for every symmetric W. NIDS (Li et al.
    2019) with one step size is the same. With the coupling φ_p its steps are those of D² at γ/2.
    """
    import torch

    before = torch.empty_like(step.X)
    _correct(step, before)
    step.gossip()
    step.elementwise((lambda x, before: x.lerp_(before, 0.5), step.X, before))


def _correct(step: Step, *copies: Tensor) -> None:
    """ψ^t = x^t − η_t g^t;  x ← ψ^t + (η_t/η_(t−1)) (x^t − ψ^(t−1)).

    x^t − ψ^(t−1) is a multiple of η_(t−1), and the ratio scales it to η_t. Without the ratio, each
    change of η drives the workers apart. With a constant η it is 1. ``copies`` take x, too.
    """
    psi, eta = step.matrix("psi"), step.matrix("eta", columns=1)  # of each worker's last step

    def lose(psi: Tensor, x: Tensor) -> None:
        psi.copy_(x - psi)

    def correct(x: Tensor, psi: Tensor, ratio: Tensor, *copies: Tensor) -> None:
        corrected = x + psi * ratio
        psi.copy_(x)
        for copy in (x, *copies):
            copy.copy_(corrected)

    ratio = step.lr / eta if step.t > 0 else eta  # 0 in the first step
    step.descend(before=(lose, psi, step.X), after=(correct, step.X, psi, ratio, *copies))
    eta.fill_(step.lr)
