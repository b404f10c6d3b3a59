"""NGO (Algorithm 1), linear gossip, and the same with fewer, later or more exchanges."""

from __future__ import annotations

from typing import Any

from ngo.common.fields import at_least, number, whole, within
from ngo.common.lazy import torch
from ngo.common.registries import ORDERS
from ngo.gossip.method import GOSSIP_FIELDS, LINEAR, ONE_EXCHANGE, WEIGHED, WHOLE_AVERAGES, method
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.schedule import learning_rate
from ngo.gossip.step import Step, combine_then_adapt

# Methods that begin with the half step of each worker, which several runs may take as one, and for
# which the newest models of neighbours are enough.
ALONE: dict[str, Any] = {"asynchronous": True, "joint": True, "descends": True}


@method(
    "gossip",
    fields=("topology", "gamma", "gamma_decay", "order", "objective"),
    **ALONE,
    **LINEAR,
    **ONE_EXCHANGE,
)
@method("ngo", fields=(*WEIGHED, "order"), **ALONE, **ONE_EXCHANGE)
def gossip(step: Step) -> None:
    """NGO, and at p = 1 linear gossip: a half step, then a pull between the half-step models.

    x_i^(t+1/2) = x_i − η g_i;  x_i^(t+1) = x_i^(t+1/2) + γ Σ_j W_ij φ_p(x_j − x_i)^(t+1/2).

    This is adapt-then-combine: workers exchange what their half steps give. With ``order``
    combine-then-adapt, they exchange the models at which they have computed their gradients.
    """
    ORDERS[step.run.order](step)


@method("dsgd", fields=("topology", "objective"), **ALONE, **WHOLE_AVERAGES, **ONE_EXCHANGE)
def dsgd(step: Step) -> None:
    """Decentralized SGD (DSGD; Lian et al. 2017): linear gossip at γ = 1.

    After a half step, each worker takes the mean of its neighbourhood, weighted by W:
    x_i^(t+1) = Σ_j W_ij (x_j − η g_j).
    """
    step.descend()
    step.gossip()


@method("local_sgd", fields=(*WEIGHED, "participants", "local_steps"), **ALONE, delay=0)
def local_sgd(step: Step) -> None:
    """Local SGD (Stich 2019): one exchange after every H half steps, H = ``local_steps``."""
    step.descend()
    if (step.t + 1) % step.run.local_steps == 0:
        step.gossip()


PHASE = {
    "together": number("share of the run's steps with an exchange after each", 0.5, within(0, 1))
}


@method("post_local_sgd", fields=(*WEIGHED, "local_steps"), options=PHASE, joint=True, delay=0)
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
    joint=True,
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
    **LINEAR,
    **ONE_EXCHANGE,
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


@method("centralized", fields=("objective", "participants"), joint=True)
def centralized(step: Step) -> None:
    """SGD with a parameter server: all workers have the same model x.

    x ← x − η (1/n) Σᵢ gᵢ. Each worker sends its gradient and receives the model.
    """
    step.G.copy_(step.network.mean(step.G))
    step.descend()


SCHEDULE = {
    "ac_power": number("power of η_t/η_s by which γ falls", 3.0, at_least(0)),
    "ac_start": number("share of the run's steps before γ falls", 0.05, within(0, 1)),
}


@method("dsgd_ac", fields=GOSSIP_FIELDS, options=SCHEDULE, joint=True, **ONE_EXCHANGE)
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
    combine_then_adapt(step, gamma)


@method(
    "choco",
    fields=(*GOSSIP_FIELDS, "compression"),
    graph="fixed",
    sends=("C(d)",),
    needs_every_message="adds up what neighbours have sent",
    **ONE_EXCHANGE,
)
def choco(step: Step) -> None:
    """CHOCO-SGD (Koloskova et al. 2019): gossip with compressed messages and error feedback.

    Algorithm 2: x ← x − η g;  x̂_j += C(x_j − x̂_j);  x_i += γ Σ_j W_ij φ(x̂_j − x̂_i).

    C(x_j − x̂_j) is sent, so worker j and its neighbours know x̂_j, which is 0 at first. The error
    of the compression stays in x_j − x̂_j, and is sent later: the error feedback.
    """
    step.descend()
    x_hat, theirs = step.matrix("x_hat"), step.copies("x_hat")
    step.send_compressed(step.X, x_hat, theirs)
    step.gossip(at=x_hat, theirs=theirs)


@method("epidemic", fields=("topology",), directed=True, **ONE_EXCHANGE)
def epidemic(step: Step) -> None:
    """Epidemic learning (EL; de Vos et al. 2023): the mean of the own model and all that arrive.

    x_i^(t+1) = (x_i + Σ_j x_j)^(t+1/2)/(1 + r_i), over the r_i workers j that sent to worker i.

    On the topology ``epidemic_out``, where each worker sends to s others, drawn in each step, it is
    EL-Local. On ``epidemic_regular``, a random regular graph in each step, it is EL-Oracle. The
    weights of a row sum to 1, but those of a column do not where r_i differ: a step of EL-Local
    conserves the workers' mean on average only.
    """
    step.descend()
    W = step.network.W
    shares = 1 / (1 + W.starts.diff()).double()  # a worker weighs all that it receives alike
    step.network.W = MixingMatrix(W.n, W.receivers, W.senders, shares[W.receivers], shares)
    step.network.mix(step.X)


CLIQUE = {"clique": whole("consecutive workers that average their gradients", 10, at_least(1))}


@method("clique_averaging", fields=GOSSIP_FIELDS, options=CLIQUE, sends=("d", "d"), **ONE_EXCHANGE)
def clique_averaging(step: Step) -> None:
    """Clique averaging (Bellet et al. 2022): x ← pull(x − η ḡ), with a clique's mean gradient ḡ.

    ḡ_i = (1/|C|) Σ_(j∈C) g_j for the clique C of worker i. This is D-SGD with clique averaging of
    "D-Cliques" (arXiv 2104.07365). The cliques are ``clique`` consecutive workers each, the last
    one perhaps fewer: those of the topology ``d_cliques`` with this ``clique_size``. Edges between
    cliques, which would bias the gradients, are used for models only, so that they carry one of the
    two messages. A local rule like momentum acts on ḡ. Where workers of a clique have no edge, as
    after a failure, its other edges are used with the same weights.
    """
    W = step.network.W
    step.network.W = within_cliques(W, step.run.clique)
    step.network.mix(step.G)
    step.network.W = W
    step.descend()
    step.gossip()


def within_cliques(W: MixingMatrix, clique: int) -> MixingMatrix:
    """The edges of W within cliques, with weights 1/|C|; the rest of each row stays with itself."""
    of = torch.arange(W.n) // clique
    inside = of[W.receivers] == of[W.senders]
    receivers, senders = W.receivers[inside], W.senders[inside]
    shares = 1 / torch.bincount(of).double()
    return MixingMatrix(W.n, receivers, senders, shares[of[receivers]])


@method(
    "ad_psgd",
    fields=("topology",),
    arrivals="pair",
    needs_every_message="has no step that all workers take together",
    **ONE_EXCHANGE,
)
def ad_psgd(step: Step) -> None:
    """AD-PSGD (Lian et al. 2018): each worker averages with one random neighbour, then descends.

    Algorithm 1: x_i, x_j ← (x_i + x_j) / 2;  x_i ← x_i − η g_i, with the gradient g_i at the model
    that x_i was when its step began. Neighbours are equally likely.
    """
    step.network.average(step.X)
    step.descend()
