"""Local rules: how a worker moves along its own gradient, before any exchange (the half step)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ngo.common.fields import Options, below, number, registers
from ngo.common.lazy import Tensor
from ngo.common.registry import Registry
from ngo.gossip.step import Step
from ngo.native.elementwise import Chain

Descend = Callable[["Step"], "Chain | None"]


@dataclass(frozen=True)
class LocalRule:
    """An entry of the registry."""

    #: Takes the half step: changes ``step.X`` in place, or, with ``chain``, returns what does so.
    descend: Descend
    #: The options that the rule declares.
    fields: tuple[str, ...] = ()
    #: Whether the half step is linear in the gradients so far.
    linear: bool = True
    #: Whether weight decay shrinks the parameters, instead of being part of the gradient.
    decoupled_decay: bool = False
    #: The number of matrices [n, d] that it keeps.
    matrices: int = 0
    #: Whether ``descend`` returns the half step as a chain (see ``Step.elementwise``).
    chain: bool = False


LOCAL_RULES: Registry[LocalRule] = Registry("local_rule")


def local_rule(
    name: str,
    *,
    linear: bool = True,
    decoupled_decay: bool = False,
    matrices: int = 0,
    chain: bool = False,
    options: Options | None = None,
    version: int = 1,
) -> Callable[[Descend], Descend]:
    """Register a function that changes ``step.X`` in place, given ``step.G`` and ``step.lr``.

    It acts on each worker's row alone, and keeps its memory in ``step.matrix``: ``matrices`` of the
    shape ``[n, d]``, a number for the estimate of a run's memory. ``options`` are new
    fields of a run, which it reads as ``step.run.NAME``. It does not apply weight decay:
    ``Step.descend`` adds it to the gradient, or, with ``decoupled_decay``, shrinks the parameters.
    With ``chain`` the function changes nothing, and returns the half step as a chain of elementwise
    operations, which takes one pass over memory together with those of the method.
    Methods whose correction is linear in the gradients refuse a rule that is not ``linear``, such
    as Adam. ``version`` is raised when its results change.
    """
    entry = partial(
        LocalRule, linear=linear, decoupled_decay=decoupled_decay, matrices=matrices, chain=chain
    )
    return registers(LOCAL_RULES, name, entry, options, version)


@local_rule("sgd", chain=True)
def sgd(step: Step) -> Chain:
    """Stochastic gradient descent (Robbins and Monro 1951): x_i ← x_i − η g_i."""
    return lambda x, g: x.sub_(g, alpha=step.lr), step.X, step.G


MASS = {"momentum": number("momentum μ", 0.9, below(0, 1))}


@local_rule("momentum", matrices=1, chain=True, options=MASS)
def momentum(step: Step) -> Chain:
    """Heavy-ball momentum (Polyak 1964): m_i ← μ m_i + g_i; x_i ← x_i − η m_i.

    As in ``torch.optim.SGD``.
    """

    def descend(x: Tensor, m: Tensor, g: Tensor) -> None:
        m.mul_(step.run.momentum).add_(g)
        x.sub_(m, alpha=step.lr)

    return descend, step.X, step.matrix("momentum"), step.G


@local_rule("nesterov", matrices=1, chain=True, options=MASS)
def nesterov(step: Step) -> Chain:
    """Nesterov's momentum (Sutskever et al. 2013): m_i ← μ m_i + g_i; x_i ← x_i − η (g_i + μ m_i).

    As in ``torch.optim.SGD``.
    """
    mu = step.run.momentum

    def descend(x: Tensor, m: Tensor, g: Tensor) -> None:
        m.mul_(mu).add_(g)
        x.sub_(g, alpha=step.lr).sub_(m, alpha=step.lr * mu)

    return descend, step.X, step.matrix("momentum"), step.G


BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@local_rule("adam", linear=False, matrices=2, chain=True)
def adam(step: Step) -> Chain:
    """Adam (Kingma and Ba 2015), with the constants of its authors.

    Algorithm 1. m and v are the moving averages of the gradient and of its square; both are local
    to a worker. k is the number of the step, from 1.
    """
    k = step.t + 1
    scale = math.sqrt(1 - BETA2**k)

    def descend(x: Tensor, m: Tensor, v: Tensor, g: Tensor) -> None:
        m.lerp_(g, 1 - BETA1)
        v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        # (m / (1 − β₁ᵏ)) / (√(v / (1 − β₂ᵏ)) + ε), with the scales taken out of the matrices.
        x.addcdiv_(m, v.sqrt().add_(EPSILON * scale), value=-step.lr * scale / (1 - BETA1**k))

    return descend, step.X, step.matrix("adam_m"), step.matrix("adam_v"), step.G


@local_rule("adamw", linear=False, decoupled_decay=True, matrices=2, chain=True)
def adamw(step: Step) -> Chain | None:
    """AdamW (Loshchilov and Hutter 2019): Adam after x_i ← (1 − η λ) x_i, λ = ``weight_decay``."""
    return adam(step)
