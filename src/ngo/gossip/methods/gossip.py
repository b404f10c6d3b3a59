"""NGO (Algorithm 1), linear gossip, and the same with fewer, later or more exchanges."""

from __future__ import annotations

from ngo.common.fields import number, within
from ngo.gossip.method import GOSSIP_FIELDS, ORDERS, method
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


@method(
    "dsgd",
    fields=("topology",),
    asynchronous=True,
    coupling="power",
    p=1.0,
    gamma=1.0,
    gamma_decay=0.0,
    local_steps=1,
    delay=0,
)
def dsgd(step: Step) -> None:
    """Decentralized SGD (DSGD; Lian et al. 2017): linear gossip at γ = 1.

    After a half step, each worker takes the mean of its neighbourhood, weighted by W:
    x_i^(t+1) = Σ_j W_ij (x_j − η g_j).
    """
    step.descend()
    step.gossip()


@method("local_sgd", fields=(*GOSSIP_FIELDS, "local_steps"), asynchronous=True, delay=0)
def local_sgd(step: Step) -> None:
    """Local SGD (Stich 2019): one exchange after every H half steps, H = ``local_steps``."""
    step.descend()
    if (step.t + 1) % step.run.local_steps == 0:
        step.gossip()


PHASE = {
    "together": number("share of the run's steps with an exchange after each", 0.5, within(0, 1))
}


@method(
    "post_local_sgd",
    fields=(*GOSSIP_FIELDS, "local_steps"),
    options=PHASE,
    delay=0,
)
def post_local_sgd(step: Step) -> None:
    """Post-local SGD (Lin et al. 2020): local SGD from a share of the run on, and H = 1 before.

    H_t = 1 in the first steps, ``together`` × the run's, and ``local_steps`` after them. The paper
    changes at the first drop of the learning rate, half-way; its workers take their exact mean in
    an exchange, which is gossip on a complete graph at γ = 1.
    """
    step.descend()
    local = step.t - round(step.run.together * step.steps)
    if local < 0 or (local + 1) % step.run.local_steps == 0:
        step.gossip()


@method(
    "delayed",
    fields=(*GOSSIP_FIELDS, "delay"),
    matrices=lambda run: run.delay + 2,
    needs_every_message="compares models of earlier steps, which must all have been sent",
    local_steps=1,
)
def delayed(step: Step) -> None:
    """NGO with delayed messages: those of step t arrive at step t + τ, τ = ``delay``.

    This is equation "delay", x_i^(t+1) = x_i^(t+1/2) + γ Σ_j W_ij φ_p(x_j − x_i)^(t−τ+1/2). All
    workers agree before the start, so the first τ steps pull nothing.
    """
    step.descend()
    tau = step.run.delay
    if tau == 0:
        step.gossip()
        return
    # A ring of the last τ + 1 half-step models, which stays even if the exchange below fails.
    half = step.matrix(f"sent{step.t % (tau + 1)}").copy_(step.X)
    if step.t < tau:
        step.network.send(half)
    else:
        step.gossip(at=step.matrix(f"sent{(step.t - tau) % (tau + 1)}"))


@method(
    "gossip_until",
    fields=("topology", "gamma", "gamma_decay", "v_threshold"),
    sends=(),
    needs_every_message="gossips until all workers agree",
    coupling="power",
    p=1.0,
    local_steps=1,
    delay=0,
)
def gossip_until(step: Step) -> None:
    """A half step, then linear gossip until V = Σᵢ‖xᵢ − x̄‖² is ``v_threshold`` or less.

    This is Figure 1, with V_th = ``v_threshold``. Gossip also ends when a round does not lower V.
    Then V is as small as rounding allows, or the step's graph does not connect all workers. All
    rounds of a step use the same graph; a matching of more than two workers, for example, never
    brings V to the threshold. The first time, a warning says so.
    """
    step.descend()
    V, before = step.network.index(step.X), float("inf")
    while step.run.v_threshold < V < before:
        step.gossip()
        V, before = step.network.index(step.X), V
    threshold = step.run.v_threshold
    if threshold < V:
        step.warn(
            f"method: gossip ended at V = {V:.3g}, above v_threshold {threshold:g}, in step "
            f"{step.t}, since a round no longer lowered V: the step's graph does not connect all "
            f"workers, or V is as small as rounding allows"
        )


@method("centralized")
def centralized(step: Step) -> None:
    """SGD with a parameter server: all workers have the same model x.

    x ← x − η (1/n) Σᵢ gᵢ. Each worker sends its gradient and receives the model.
    """
    step.G.copy_(step.network.mean(step.G))
    step.descend()
