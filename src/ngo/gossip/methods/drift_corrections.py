"""Methods that correct the drift of workers with heterogeneous data, or their momentum."""

from __future__ import annotations

from typing import Any

from ngo.common.fields import below, number, within
from ngo.common.lazy import Tensor, torch
from ngo.common.registries import ORDERS
from ngo.common.seeding import torch_stream
from ngo.gossip.method import GOSSIP_FIELDS, ONE_EXCHANGE, method
from ngo.gossip.step import Step

#: Methods whose correction adds up pulls on one graph.
ON_ONE_GRAPH: dict[str, Any] = {"graph": "fixed", "linear_rule": True}
#: Methods that also mix what they track.
TRACKING: dict[str, Any] = {"sends": ("d", "d"), "joint": True, **ONE_EXCHANGE}


@method("d2", fields=GOSSIP_FIELDS, joint=True, **ON_ONE_GRAPH, **ONE_EXCHANGE)
def d2(step: Step) -> None:
    """D² (Tang et al. 2018): gossip with a correction that removes the bias of heterogeneous data.

    x^(t+1) = pull(2x^t − x^(t−1) − η (g^t − g^(t−1))). At p = 1 the smallest eigenvalue of
    (1 − γ)I + γW must be above −1/3: on a ring of ten, γ must be below 1.
    """
    _correct(step, 1)


@method("exact_diffusion", fields=GOSSIP_FIELDS, joint=True, **ON_ONE_GRAPH, **ONE_EXCHANGE)
def exact_diffusion(step: Step) -> None:
    """Exact diffusion (Yuan et al. 2019): D² that goes half the way of each pull.

    At p = 1 and γ = 1 the matrix is (I + W)/2. It is stable for every symmetric W. NIDS (Li et al.
    2019) with one step size is the same. With the coupling φ_p its steps are those of D² at γ/2.
    """
    _correct(step, 0.5)


def _correct(step: Step, share: float) -> None:
    """x̂ = x − η g + η c;  x ← x̂ + s pulls(x̂);  c ← c + (s/η) pulls(x̂), with s = ``share``.

    c accumulates the pulls. With the half step ψ^t = x^t − η_t g^t, it holds that
    η_t c^t = (η_t/η_(t−1)) (x^t − ψ^(t−1)). Pulls are divided by η before they are added to c, so
    that a change of η does not move the workers.
    """
    c = step.matrix("c")
    _descend_along(step, c)
    _pull_and_correct(step, c, step.X, share, share)


def _descend_along(step: Step, c: Tensor) -> None:
    """X ← x − η g + η c."""
    step.descend(after=(lambda x, c: x.add_(c, alpha=step.lr), step.X, c))


def _pull_and_correct(step: Step, c: Tensor, at: Tensor, of_x: float, of_c: float) -> None:
    """X ← x + a pulls(``at``);  c ← c + (b/η) pulls(``at``), with a = ``of_x`` and b = ``of_c``."""

    def correct(x: Tensor, c: Tensor, pulls: Tensor) -> None:
        x.add_(pulls, alpha=of_x)
        c.add_(pulls, alpha=of_c / step.lr)

    pulls = step.G.zero_()  # in the memory of the gradients
    step.add_pulls(pulls, at=at)
    step.elementwise((correct, step.X, c, pulls))


@method("extra", fields=GOSSIP_FIELDS, joint=True, **ON_ONE_GRAPH, **ONE_EXCHANGE)
def extra(step: Step) -> None:
    """EXTRA (Shi et al. 2015): pull(x) − η g + η c, where ηc is half the sum of all pulls so far.

    x^(t+1) = pull(x^t) − η g^t + η c^t;  c^(t+1) = c^t + (pull(x^t) − x^t)/(2η).

    At p = 1 this is the paper's Algorithm 1, x^(t+2) = (I + W) x^(t+1) − W̃ x^t − η (g^(t+1) −
    g^t), with its choice W̃ = (I + W)/2, and W at the rate γ. The workers combine, then adapt;
    exact diffusion adapts, then combines, and is otherwise the same. The paper has a constant η;
    here c is over η, so that a change of η leaves the workers where they are.
    """
    c, before = step.matrix("c"), step.X.clone()
    _descend_along(step, c)
    _pull_and_correct(step, c, before, 1.0, 0.5)


@method("admm", fields=(*GOSSIP_FIELDS, "local_steps"), joint=True, **ON_ONE_GRAPH, delay=0)
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


CHANCE = {
    "exchange_probability": number("probability of an exchange in a step", 0.5, within(1e-6, 1))
}


@method("proxskip", fields=GOSSIP_FIELDS, options=CHANCE, **ON_ONE_GRAPH, **ONE_EXCHANGE)
def proxskip(step: Step) -> None:
    """ProxSkip (Mishchenko et al. 2022): local steps with control variates, seldom an exchange.

    x̂ = x − η (g − h). With probability q = ``exchange_probability``, x ← pull(x̂) and
    h ← h + (q/η)(x − x̂); otherwise x ← x̂.

    This is the paper's decentralized form, with (1 − γ)I + γW as its matrix; on a complete graph at
    γ = 1 it is Scaffnew (Algorithm 2). With q = 1 its steps are those of D². All workers toss one
    coin for a step, from a stream that is keyed by the seed and the step.
    """
    h, q = step.matrix("h"), step.run.exchange_probability
    _descend_along(step, h)
    coin = torch_stream(step.run.seed, "exchanges", step.t)
    if float(torch.rand((), generator=coin, dtype=torch.float64)) < q:
        _pull_and_correct(step, h, step.X, 1.0, q)


@method("gradient_tracking", fields=GOSSIP_FIELDS, **TRACKING)
def gradient_tracking(step: Step) -> None:
    """Gradient tracking (DSGT; Pu and Nedić 2021): pull(x − η y), with y ← mix(y) + g^t − g^(t−1).

    y^t = mix(y^(t−1)) + g^t − g^(t−1);  x^(t+1) = pull(x^t − η y^t).

    y_i estimates the mean gradient; it mixes linearly, y ← y + γ (W y − y). Two matrices are sent.
    There are several forms of gradient tracking. In this one, x adapts, then combines; in DIGing,
    x^(t+1) = mix(x^t) − η y^t. Here and in DIGing, y mixes before the difference of gradients is
    added; in Aug-DGM, their sum mixes.
    """
    y, before = step.matrix("y"), step.matrix("g")
    if step.t > 0:
        step.network.mix(y, step.gamma)

    def track(y: Tensor, g: Tensor, before: Tensor) -> None:
        y.add_(g - before)
        before.copy_(g)
        g.copy_(y)

    step.descend(before=(track, y, step.G, before))
    step.gossip()


TRACKED = {"tracked_momentum": number("momentum μ, which is tracked", 0.9, below(0, 1))}


@method(
    "momentum_tracking",
    fields=(*GOSSIP_FIELDS, "order"),
    options=TRACKED,
    local_rule="sgd",
    **TRACKING,
)
def momentum_tracking(step: Step) -> None:
    """Momentum tracking (Takezawa et al. 2022): gradient tracking of momentum, not of gradients.

    u^t = μ u^(t−1) + g^t;  y^t = mix(y^(t−1)) + u^t − u^(t−1);  x^(t+1) = pull(x^t − η y^t).

    The paper (Algorithm 1) writes y as u − c, with c ← mix(c − u) + u. It combines, then adapts,
    x^(t+1) = pull(x^t) − η y^t, which is ``order`` combine_then_adapt. With μ = 0 this is
    ``gradient_tracking``. Two matrices are sent.
    """
    u, y = step.matrix("u"), step.matrix("y")
    if step.t > 0:
        step.network.mix(y, step.gamma)

    def track(u: Tensor, y: Tensor, g: Tensor) -> None:
        y.sub_(u)
        u.mul_(step.run.tracked_momentum).add_(g)
        y.add_(u)
        g.copy_(y)

    step.elementwise((track, u, y, step.G))
    ORDERS[step.run.order](step)


@method("gt_saga", fields=GOSSIP_FIELDS, batch_size=1, **{**TRACKING, "joint": False})
def gt_saga(step: Step) -> None:
    """GT-SAGA (GT-VR; Xin et al. 2020): gradient tracking of gradients without noise in the end.

    r^t = g − a_s + (1/m) Σ_j a_j for the gradient g of the sample s, then a_s ← g;
    y^t = mix(y^(t−1) + r^t − r^(t−1));  x^(t+1) = pull(x^t − η y^t).

    A worker keeps the last gradient a_j of each of its m samples, so the table is as large as m
    models: this is for convex problems with few parameters. One sample is drawn in a step. With a
    constant η all workers reach the exact minimum, where gradient tracking goes on moving. In the
    paper (arXiv 1912.04230, Algorithm 1), s is drawn with replacement and the table begins with the
    gradients at x⁰; here samples come in passes of random order, and the table begins with 0, so
    that no further gradients are needed. Two matrices are sent.
    """
    places, owned = step.samples()  # type: ignore[misc]  # no worker steps alone
    (n, d), most = step.X.shape, int(owned.max())
    y, before, mean = map(step.matrix, ("y", "r", "mean"))
    rows, places = torch.arange(n), places[:, 0]
    table = step.matrix("table", columns=most * d).view(n, most, d)
    change = step.G - table[rows, places]
    table[rows, places] = step.G

    def track(y: Tensor, g: Tensor, before: Tensor, mean: Tensor, change: Tensor) -> None:
        g.copy_(change + mean)
        y.add_(g - before)
        before.copy_(g)

    step.elementwise((track, y, step.G, before, mean, change))
    mean.add_(change / owned.to(change)[:, None])
    step.network.mix(y, step.gamma)
    step.G.copy_(y)
    step.descend()
    step.gossip()


HELP = "quasi-global momentum μ, of the half step and of the average"

QUASI_GLOBAL = {"qg_momentum": number(HELP, 0.9, below(0, 1))}

APART = {
    "qg_beta": number(
        "coefficient β of the quasi-global momentum in a half step", 0.9, below(0, 1)
    ),
    "qg_mu": number("coefficient μ of the average of whole steps", 0.9, below(0, 1)),
}

OTHERS: dict[str, Any] = {"local_rule": "sgd", "joint": True, **ONE_EXCHANGE}


@method("quasi_global", fields=GOSSIP_FIELDS, options=QUASI_GLOBAL, **OTHERS)
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

    def average(m: Tensor, before: Tensor, x: Tensor) -> None:
        m.mul_(mu).add_(before - x, alpha=(1 - mu) / step.lr)

    # After the half step x − η g, the gradients' memory takes the model before it.
    step.descend(
        before=(lambda g, m: g.add_(m, alpha=beta), step.G, m),
        after=(lambda g, x: g.mul_(step.lr).add_(x), step.G, step.X),
    )
    step.gossip()
    step.elementwise((average, m, step.G, step.X))
