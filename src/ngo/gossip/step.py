"""One training step, as a method sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ngo.common.lazy import Tensor, torch
from ngo.native.elementwise import Chain, elementwise
from ngo.native.pool import Map, in_order

if TYPE_CHECKING:
    from ngo.gossip.compression import Codec
    from ngo.gossip.coupling import Coupling
    from ngo.gossip.local_rule import LocalRule
    from ngo.gossip.network import Network

Matrices = dict[str, "Tensor"]


#: A run, whose fields are attributes; ``training.spec`` has all of them.
Run: TypeAlias = Any


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
    matrices: Matrices
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

    @property
    def gamma(self) -> float:
        """The synchronization rate γ_t = γ / (1 + t)^decay: constant where the decay is 0."""
        gamma, decay = self.run.gamma, self.run.gamma_decay
        return gamma / (1 + self.t) ** decay if decay else gamma

    def descend(self, *, before: Chain | None = None, after: Chain | None = None) -> None:
        """Take the half step along the gradient ``G``, by the run's local rule.

        Weight decay λ belongs to this half step: G + λX takes the place of the gradient, or, for a
        rule with decoupled decay, X ← (1 − ηλ)X comes first (Loshchilov and Hutter 2019). The
        chains ``before`` and ``after`` are part of the same pass over memory.
        """
        decay, shrink = self.run.weight_decay, 1 - self.lr * self.run.weight_decay
        first = [before] if before else []
        if decay and self.rule.decoupled_decay:
            first.append((lambda x: x.mul_(shrink), self.X))
        elif decay:
            first.append((lambda g, x: g.add_(x, alpha=decay), self.G, self.X))
        last = [after] if after else []
        if self.rule.chain:
            self.elementwise(*first, self.rule.descend(self), *last)  # type: ignore[arg-type]
        else:
            self.elementwise(*first)
            self.rule.descend(self)
            self.elementwise(*last)

    def elementwise(self, *chains: Chain) -> None:
        """Run chains ``(f, *matrices)``, in one pass over memory where that is possible.

        ``f(*matrices)`` changes matrices in place by elementwise operations (``native.elementwise``
        lists them).
        """
        elementwise(*chains, spread=self.spread)

    def gossip(self, at: Tensor | None = None, theirs: Tensor | None = None) -> None:
        """Pull each worker towards its neighbours: x_i += γ_t Σ_j W_ij φ(x_j − x_i).

        The differences are those of ``at`` ``[n, d]``, if it is given, instead of ``X``. With
        ``theirs``, the ``copies`` of the matrix ``at``, nothing is sent.
        """
        self.network.pull(
            self.X,
            self.coupling,  # type: ignore[arg-type]  # without a coupling, pull is a UserError
            self.gamma,
            self.run,
            at=at,
            theirs=theirs,
        )

    def add_pulls(self, to: Tensor, at: Tensor) -> None:
        """Add the pulls γ_t Σ_j W_ij φ(y_j − y_i), y the rows of ``at`` ``[n, d]``, to ``to``.

        For a method that adds up pulls over steps. The pulls at both ends of an edge are opposite,
        also at p = 1, so that their sums go on adding up to 0. The difference of the models before
        and after ``gossip`` has rounding errors of the models, which would add up step by step.
        """
        self.network.pull(
            to,
            self.coupling.by_differences(),  # type: ignore[union-attr]  # as in gossip
            self.gamma,
            self.run,
            at=at,
        )

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
            size = codec.size(codec.d, codec.run, x.element_size())
            self.network.send(x.new_empty(len(x), size, dtype=torch.uint8))
            codec.add(x, x_hat, self.spread)

    def matrix(
        self, name: str, *, rows: int | None = None, columns: int | None = None, fill: float = 0.0
    ) -> Tensor:
        """The method's own matrix ``name``: ``[n, d]``, or ``[n, columns]``, a row for each worker.

        The first use creates it, filled with ``fill``, on the device of ``X``. Its contents persist
        from step to step, and checkpoints include them. With ``rows`` it has that many rows. When
        their number changes, after the loss of a worker, a new matrix takes its place.
        """
        wanted = len(self.X) if rows is None else rows
        if name not in self.matrices or len(self.matrices[name]) != wanted:
            shape = (wanted, self.X.shape[1] if columns is None else columns)
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
        if count == 0:
            return self.X[:0]
        if name not in known and self.t == 0:
            known[name] = self.X.new_zeros(count, self.X.shape[1])
        elif name not in known:
            known[name] = self.network.send(self.matrix(name))
        return known[name]
