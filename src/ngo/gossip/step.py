"""One training step: the half step by a local rule, and what a method sees."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ngo.common.fields import Options, below, number, registers
from ngo.common.lazy import Run, Tensor, torch
from ngo.common.registries import LOCAL_RULES, ORDERS
from ngo.gossip.compression import Codec
from ngo.gossip.exchange import Network, Pulls
from ngo.gossip.gossip_step import Coupling
from ngo.native.elementwise import Chain, elementwise
from ngo.native.threads import Map, in_order
from verdicts.registry import UserError


@dataclass(frozen=True)
class Step:
    """A training step, given to the method and the local rule.

    The rows of its matrices are all workers, in one process, or the workers of one process among
    many. A method is written the same way for both.
    """

    #: The number of this step, from 0.
    t: int
    #: The number of steps of the run.
    steps: int
    #: The workers' parameters ``[n, d]``: the method changes them in place.
    X: Tensor
    #: The gradients ``[n, d]`` at ``X``; the method may overwrite them.
    G: Tensor
    #: The fields of the run, with the values of this step where a schedule changes them.
    run: Run
    #: The learning rate η_t of this step.
    lr: float
    #: Where rows are sent, pulled and mixed.
    network: Network
    #: The run's local rule.
    rule: LocalRule
    #: The run's coupling; None for a centralized method.
    coupling: Coupling | None
    #: The method's own matrices by name (see ``matrix``).
    matrices: dict[str, Tensor]
    #: The run's compression.
    codec: Codec
    #: Called with each new matrix, before the method sees it.
    created: Callable[[Tensor], None] = lambda matrix: None
    #: Distributes the entries of matrices over threads.
    spread: Map = in_order
    #: Logs a line as a warning, if the run has logged none yet.
    warn: Callable[[str], None] = lambda line: None
    #: The places ``[n, b]`` of the step's samples among the worker's own, and how many it owns
    #: ``[n]``. Where not all workers step together, they are not known.
    samples: Callable[[], tuple[Tensor, Tensor]] | None = None
    #: What each worker counts for, w ``[n]``, float64, with the sum 1; None if all count equally.
    shares: Tensor | None = None
    #: Whether the workers have taken the half step with their gradients; ``G`` is not known then.
    descended: bool = False

    @property
    def gamma(self) -> float:
        """The synchronization rate γ_t = γ / (1 + t)^decay: constant where the decay is 0.

        It goes through ``network.pull`` to the coupling, and is applied in ``gossip_step``.
        """
        gamma, decay = self.run.gamma, self.run.gamma_decay
        return gamma / (1 + self.t) ** decay if decay else gamma

    def descend(self, *, before: Chain | None = None, after: Chain | None = None) -> None:
        """Take the half step along the gradient ``G``, by the run's local rule.

        Weight decay λ belongs to this half step: G + λX takes the place of the gradient, or, for a
        rule with decoupled decay, X ← (1 − ηλ)X comes first (Loshchilov and Hutter 2019). The
        chains ``before`` and ``after`` are part of the same pass over memory.
        """
        if self.descended:
            return
        first, last = [before] if before else [], [after] if after else []
        if self.rule.chain:
            self.elementwise(*first, *self.half_step(), *last)
        else:
            self.elementwise(*first, *self._decay())
            if (returned := self.rule.descend(self)) is not None:
                told = f"it returned a {type(returned).__name__}, which nothing reads"
                raise UserError(f"local_rule: {told}; change step.X in place (or see chain=True).")
            self.elementwise(*last)

    def half_step(self) -> list[Chain]:
        """The half step as chains, if it is one of the local rule."""
        return [*self._decay(), self.rule.descend(self)]  # type: ignore[list-item]

    def _decay(self) -> list[Chain]:
        decay, shrink = self.run.weight_decay, 1 - self.lr * self.run.weight_decay
        if decay and self.rule.decoupled_decay:
            return [(lambda x: x.mul_(shrink), self.X)]
        return [(lambda g, x: g.add_(x, alpha=decay), self.G, self.X)] if decay else []

    def elementwise(self, *chains: Chain) -> None:
        """Run chains ``(f, *matrices)``, in one pass over memory where that is possible.

        ``f(*matrices)`` changes matrices in place by elementwise operations (``native.elementwise``
        lists them).
        """
        elementwise(*chains, spread=self.spread)

    def gossip(
        self, at: Tensor | None = None, theirs: Tensor | None = None, gamma: float | None = None
    ) -> None:
        """Pull each worker towards its neighbours: x_i += γ_t Σ_j W_ij φ(x_j − x_i).

        The differences are those of ``at`` ``[n, d]``, if it is given, instead of ``X``. With
        ``theirs``, the ``copies`` of the matrix ``at``, nothing is sent. ``gamma`` is γ_t, if it is
        another.
        """
        step = self._pulls(self.coupling, self.gamma if gamma is None else gamma)
        self.network.pull(self.X, step, at, theirs)

    def _pulls(self, coupling: Any, gamma: float) -> Pulls:
        """What ``network.pull`` takes; without a coupling, that is a UserError."""
        return lambda X, W, **how: coupling.step(X, W, gamma, self.run, **how)

    def add_pulls(self, to: Tensor, at: Tensor) -> None:
        """Add the pulls γ_t Σ_j W_ij φ(y_j − y_i), y the rows of ``at`` ``[n, d]``, to ``to``.

        For a method that adds up pulls over steps. The pulls at both ends of an edge are opposite,
        also at p = 1, so that their sums go on adding up to 0. The difference of the models before
        and after ``gossip`` has rounding errors of the models, which would add up step by step.
        """
        coupling: Any = self.coupling
        exact = replace(coupling, fast=coupling.exact or coupling.fast)
        self.network.pull(to, self._pulls(exact, self.gamma), at)

    def send_compressed(self, x: Tensor, x_hat: Tensor, theirs: Tensor) -> None:
        """Send C(x − x̂) ``[n, d]``, compressed, along all edges, and add it to x̂.

        What neighbours in other processes have sent is added to ``theirs``, the ``copies`` of x̂.
        """
        codec = self.codec
        if len(theirs):
            payload = codec.encode(x - x_hat)
            theirs += codec.decode(self.network.send(payload))
            x_hat += codec.decode(payload)
        else:  # nobody reads the payloads, but they count
            self.network.send(x.new_empty(len(x), codec.bytes_of(x), dtype=torch.uint8))
            codec.add(x, x_hat, self.spread)

    def matrix(
        self, name: str, *, rows: int | None = None, columns: int | None = None, fill: float = 0.0
    ) -> Tensor:
        """The method's own matrix ``name``: ``[n, d]``, or ``[n, columns]``, a row for each worker.

        The first use creates it, filled with ``fill``, on the device of ``X``. Its contents persist
        from step to step, and checkpoints include them. With ``rows`` it has that many rows. When
        their number changes, after the loss of a worker, a new matrix takes its place.
        """
        shape = len(self.X) if rows is None else rows, columns or self.X.shape[1]
        if name not in self.matrices or len(self.matrices[name]) != shape[0]:
            self.matrices[name] = self.X.new_full(shape, fill)
            self.created(self.matrices[name])
        return self.matrices[name]

    def copies(self, name: str) -> Tensor:
        """Copies ``[l, d]`` of rows of ``matrix(name)`` that neighbours in other processes own.

        At first they are 0, like the rows. Later the method changes the copies as their owners
        change the rows. After a loss of workers the rows are sent again. In one process there are
        no copies.
        """
        count, known = len(self.network.elsewhere()), self.network.copies
        if count and name not in known:
            first = self.X.new_zeros(count, self.X.shape[1])
            known[name] = self.network.send(self.matrix(name)) if self.t else first
        return known[name] if count else self.X[:0]


def adapt_then_combine(step: Step) -> None:
    """The half step first: x ← pull(x − η g(x))."""
    step.descend()
    step.gossip()


def combine_then_adapt(step: Step, gamma: float | None = None) -> None:
    """The pull first: x ← pull(x) − η g(x), with the gradient at the x before it."""
    try:
        step.gossip(gamma=gamma)
    finally:  # the gradient counts even if the exchange fails
        step.descend()


for order in (adapt_then_combine, combine_then_adapt):
    ORDERS.add(order.__name__, order, order)


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
    #: Whether ``descend`` returns the half step as a chain (see ``Step.elementwise``).
    chain: bool = False


def local_rule(
    name: str, *, options: Options | None = None, version: int = 1, **facts: Any
) -> Callable[[Descend], Descend]:
    """Register a function that changes ``step.X`` in place, given ``step.G`` and ``step.lr``.

    It acts on each worker's row alone, and keeps its memory in ``step.matrix``. ``options`` are new
    fields of a run, which it reads as ``step.run.NAME``. It does not apply weight decay:
    ``Step.descend`` adds it to the gradient, or, with ``decoupled_decay``, shrinks the parameters.
    ``facts`` are those of ``LocalRule``.
    With ``chain`` the function changes nothing, and returns the half step as a chain of elementwise
    operations, which takes one pass over memory together with those of the method.
    Methods whose correction is linear in the gradients refuse a rule that is not ``linear``, such
    as Adam. ``version`` is raised when its results change.
    """
    return registers(LOCAL_RULES, name, partial(LocalRule, **facts), options, version)


@local_rule("sgd", chain=True)
def sgd(step: Step) -> Chain:
    """Stochastic gradient descent (Robbins and Monro 1951): x_i ← x_i − η g_i."""
    return lambda x, g: x.sub_(g, alpha=step.lr), step.X, step.G


def heavy_ball(x: Tensor, m: Tensor, g: Tensor, lr: float, mu: float) -> None:
    """M ← μ m + g;  x ← x − η m."""
    m.mul_(mu).add_(g)
    x.sub_(m, alpha=lr)


def accelerated(x: Tensor, m: Tensor, g: Tensor, lr: float, mu: float) -> None:
    """M ← μ m + g;  x ← x − η (g + μ m)."""
    m.mul_(mu).add_(g)
    x.sub_(g, alpha=lr).sub_(m, alpha=lr * mu)


MASS = {"momentum": number("momentum μ", 0.9, below(0, 1))}


@local_rule("momentum", chain=True, options=MASS)
def momentum(step: Step) -> Chain:
    """Heavy-ball momentum (Polyak 1964): m_i ← μ m_i + g_i; x_i ← x_i − η m_i.

    As in ``torch.optim.SGD``.
    """
    descend = partial(heavy_ball, lr=step.lr, mu=step.run.momentum)
    return descend, step.X, step.matrix("momentum"), step.G


@local_rule("nesterov", chain=True, options=MASS)
def nesterov(step: Step) -> Chain:
    """Nesterov's momentum (Sutskever et al. 2013): m_i ← μ m_i + g_i; x_i ← x_i − η (g_i + μ m_i).

    As in ``torch.optim.SGD``.
    """
    descend = partial(accelerated, lr=step.lr, mu=step.run.momentum)
    return descend, step.X, step.matrix("momentum"), step.G


BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@local_rule("adam", linear=False, chain=True)
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


@local_rule("adamw", linear=False, decoupled_decay=True, chain=True)
def adamw(step: Step) -> Chain | None:
    """AdamW (Loshchilov and Hutter 2019): Adam after x_i ← (1 − η λ) x_i, λ = ``weight_decay``."""
    return adam(step)
