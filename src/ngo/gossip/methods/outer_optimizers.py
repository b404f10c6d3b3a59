"""Outer optimizers: a step along the drift of several local steps.

H times (``local_steps``), each worker follows its local rule, from its model x to x̃. The drift
x̃ − x then takes the place of a gradient, for an outer rule with a learning rate η (``outer_lr``)
and a momentum μ (``outer_momentum``). The local rule keeps its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngo.common.fields import above, below, choice, number
from ngo.common.lazy import Tensor
from ngo.gossip.method import GOSSIP_FIELDS, WEIGHED, WHOLE_AVERAGES, method
from ngo.gossip.step import Step, accelerated, heavy_ball
from verdicts.registry import Registry

OUTER_RULES: Registry[Callable[..., None]] = Registry("outer_rule")
#: Whether a momentum is that of models after the pull.
MOMENTA: Registry[bool] = Registry("outer_momentum_of")

RATES: dict[str, Any] = {
    "outer_lr": number("outer learning rate: the factor of the drift", 0.7, above(0)),
    "outer_momentum": number("outer momentum μ; 0 is SGD", 0.9, below(0, 1)),
}
RULE: dict[str, Any] = {"outer_rule": choice("how the drift is followed", "nesterov", OUTER_RULES)}
OF: dict[str, Any] = {
    "outer_momentum_of": choice("GASLoC's momentum: of models sent, or pulled", "sent", MOMENTA)
}
# What a step on gossip states and fixes.
ON_GOSSIP: dict[str, Any] = {"asynchronous": True, "joint": True, "delay": 0}


OUTER_RULES.add("momentum", heavy_ball, heavy_ball)
OUTER_RULES.add("nesterov", accelerated, accelerated)
MOMENTA.add("sent", False)
MOMENTA.add("pulled", True)


@method(
    "diloco",
    fields=("local_steps", "objective", "participants"),
    options={**RULE, **RATES},
    joint=True,
    descends=True,
)
def diloco(step: Step) -> None:
    """DiLoCo (Douillard et al. 2023): an outer step along the mean drift of all workers.

    Algorithm 1: all workers take H local steps from x; then x ← outer step along (1/k) Σᵢ (x̃ᵢ − x).
    The authors have AdamW and H = 500 inside, Nesterov with η = 0.7 and μ = 0.9 outside. With η = 1
    and μ = 0, x becomes the mean of the models, as in federated averaging. The mean comes from a
    parameter server.
    """
    if _inner(step):
        step.X.copy_(step.network.mean(step.X))
        _follow_drift(step)


@method("outer", fields=(*WEIGHED, "local_steps"), options={**RULE, **RATES}, **ON_GOSSIP)
def outer(step: Step) -> None:
    """An outer optimizer on gossip: H local steps, a pull, and an outer step of each worker.

    x̃ᵢ ← pull(x̃ᵢ), between models after local steps; then xᵢ ← outer step along x̃ᵢ − xᵢ. On the
    complete graph with whole averaging this is DiLoCo, with η = 1 and μ = 0 local SGD. The drift is
    the pseudo-gradient of Reddi et al. (2021), with its sign changed.
    """
    if _inner(step):
        step.gossip()
        _follow_drift(step)


@method(
    "noloco",
    fields=("topology", "local_steps"),
    options=RATES,
    outer_rule="momentum",
    **WHOLE_AVERAGES,
    **ON_GOSSIP,
)
def noloco(step: Step) -> None:
    """NoLoCo (Kolehmainen et al. 2025): an outer step along the drift to the mean of random pairs.

    m ← μ m + η d̄ + η (x̄ − x);  x ← x + m, with the means over a pair of drifts, d̄, and of models
    before them, x̄. Random pairs are the topology ``random_matching``. As in the authors' code, both
    terms have the rate η; there, η = 0.7 and μ = 0.5. So their sum needs only d̄ + x̄, the mean of
    the models after the local steps, and workers send these.
    """
    outer(step)


@method("gasloc", fields=(*GOSSIP_FIELDS, "local_steps"), options={**RATES, **OF}, **ON_GOSSIP)
def gasloc(step: Step) -> None:
    """GASLoC (Cagnasso et al. 2026): gossip of models after an outer step, and their momentum.

    y^t = x^t + η (x̃^t − x^t);  x^(t+1) = pull(y^t) + μ (y^t − y^(t−1)), with y^(−1) = x^0.

    The mean of all models takes Nesterov's outer step along the mean drift. In this form, that of
    the paper, each worker has its own momentum, which keeps the workers apart on the complete graph
    too. With ``outer_momentum_of`` pulled, z^t = pull(y^t) takes the place of y^t in the momentum:
    on the complete graph with whole averaging, that is DiLoCo.
    """
    x, start, before = step.X, step.matrix("outer_start"), step.matrix("outer_before")
    if step.t == 0:
        before.copy_(x)
    if not _inner(step):
        return
    lr, mu = step.run.outer_lr, step.run.outer_momentum

    def adapt(start: Tensor, x: Tensor) -> None:
        start.lerp_(x, lr)
        x.copy_(start)

    def accelerate(x: Tensor, start: Tensor, before: Tensor) -> None:
        if MOMENTA[step.run.outer_momentum_of]:
            start.copy_(x)
        x.add_(start - before, alpha=mu)
        before.copy_(start)
        start.copy_(x)

    step.elementwise((adapt, start, x))
    step.gossip()
    step.elementwise((accelerate, x, start, before))


def _inner(step: Step) -> bool:
    """Take a local step; whether it is the last of H, after which an outer step is due."""
    start = step.matrix("outer_start")
    if step.t == 0:
        start.copy_(step.X)
    step.descend()
    return (step.t + 1) % step.run.local_steps == 0


def _follow_drift(step: Step) -> None:
    """The outer step of each worker from where it started, along X − start."""
    run, rule = step.run, OUTER_RULES[step.run.outer_rule]

    def follow(x: Tensor, start: Tensor, m: Tensor) -> None:
        rule(start, m, x - start, -run.outer_lr, run.outer_momentum)  # the drift descends
        x.copy_(start)

    step.elementwise((follow, step.X, step.matrix("outer_start"), step.matrix("outer_momentum")))
