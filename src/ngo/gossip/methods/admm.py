"""The decentralized alternating direction method of multipliers (ADMM)."""

from __future__ import annotations

from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.step import Step


@method(
    "admm",
    fields=(*GOSSIP_FIELDS, "local_steps"),
    graph="fixed",
    linear_rule=True,
    matrices=5,
    delay=0,
)
def admm(step: Step) -> None:
    """Decentralized ADMM by gradient steps (DLM; Ling et al. 2015): each worker has a multiplier.

    With c_ij = γ W_ij/η, an exchange of the models x^k changes the multipliers, by
    λ_i ← λ_i + Σ_j c_ij (x_i^k − x_j^k). Then each worker takes H = ``local_steps`` gradient steps
    from x_i^k on f_i(x) + λ_i·x + Σ_j c_ij ‖x − (x_i^k + x_j^k)/2‖² + (ρ_i/2)‖x − x_i^k‖².

    With H = 1 these are the steps of DLM, ADMM with linearized objectives, and those of EXTRA at
    the rate 2γ. The larger H, the nearer they are to ADMM (Shi et al. 2014) with the proximal terms
    ρ_i = 2γ (1 − Σ_j W_ij)/η, for which γ can stay as it is with any number of neighbours. The
    multipliers sum to 0: models that no longer change are equal, with gradients that sum to 0. The
    papers' problems are convex, and their graphs fixed.
    """
    multiplier, start, pulls = map(step.matrix, ("multiplier", "start", "pulls"))
    if step.t % step.run.local_steps == 0:
        start.copy_(step.X)
        step.add_pulls(pulls.zero_(), at=start)
        multiplier.sub_(pulls, alpha=1 / step.lr)
    # The step along the gradient of all but f_i, at the model before the half step.
    shift = pulls.sub(multiplier, alpha=step.lr)
    shift.sub_(step.X - start, alpha=2 * step.gamma)
    step.descend(after=(lambda x, shift: x.add_(shift), step.X, shift))
