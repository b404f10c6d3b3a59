"""Decentralized SGD with adaptive consensus (DSGD-AC; Wang and Johansson 2026)."""

from __future__ import annotations

from ngo.common.fields import at_least, number, within
from ngo.gossip.lr_schedule import learning_rate
from ngo.gossip.method import GOSSIP_FIELDS, method
from ngo.gossip.step import Step

SCHEDULE = {
    "ac_power": number("power of η_t/η_s by which γ falls", 3.0, at_least(0)),
    "ac_start": number("share of the run's steps before γ falls", 0.05, within(0, 1)),
}


@method("dsgd_ac", fields=GOSSIP_FIELDS, options=SCHEDULE, local_steps=1, delay=0)
def dsgd_ac(step: Step) -> None:
    """DSGD-AC (Wang and Johansson 2026): γ falls faster than η, so that workers go on disagreeing.

    x^(t+1) = x^t + γ_t Σ_j W_ij φ(x_j − x_i)^t − η_t g^t, with γ_t = γ (η_t/η_s)^a from step s on.

    s is the share ``ac_start`` of the run, or the end of the warm-up if that is later; a is
    ``ac_power``. This follows the authors' code (WangZesen/decent-sam-grc) for arXiv 2602.02899,
    with γ = 1 and p = 1; its defaults are a = 3 and an s after 10 of 200 epochs, when the warm-up
    ends. With a constant η, or a = 0, it is gossip that combines, then adapts.
    """
    run, gamma = step.run, step.gamma
    start = round(max(run.ac_start, run.warmup) * step.steps)
    if step.t >= start:
        gamma *= (step.lr / learning_rate(run, start, step.steps)) ** run.ac_power
    try:
        step.network.pull(step.X, step.coupling, gamma, run)  # type: ignore[arg-type]
    finally:  # the gradient counts even if the exchange fails
        step.descend()
