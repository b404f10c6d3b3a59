"""The network on which methods exchange rows, and its form for one process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from ngo.common.registry import UserError
from ngo.gossip.weight_rule import METROPOLIS
from ngo.native.pool import Map, in_order

if TYPE_CHECKING:
    import torch

    from ngo.gossip.coupling import Coupling
    from ngo.gossip.liars import Liars
    from ngo.gossip.mixing_matrix import MixingMatrix
    from ngo.gossip.step import Run


class Network(ABC):
    """How workers reach each other. The own workers are those of this process.

    ``rows`` are the own workers' rows of any matrix ``[n, k]``. The network counts the messages of
    the own workers, and their bytes by the shape of a row, as if each worker were a machine.
    """

    #: Whether the graph is directed.
    directed = False
    #: The rule for the weights of a graph that has lost workers.
    weights = METROPOLIS
    #: The workers that lie in pulls and mixes, if there are any.
    liars: Liars | None = None
    #: Copies of rows of neighbours in other processes, by name (see ``step.Step.copies``).
    copies: dict[str, torch.Tensor]

    def __init__(self) -> None:
        self.messages = 0  # rows sent so far
        self.bytes_sent = 0
        self.exchanges = 0  # steps so far in which the mixing matrix was used
        self.copies = {}
        self._W: MixingMatrix | None = None
        self._used = False

    def set_matrix(self, W: torch.Tensor | MixingMatrix | None) -> None:
        """Begin a step with its mixing matrix, dense or as edges."""
        from ngo.gossip.mixing_matrix import MixingMatrix

        self._W, self._used = None if W is None else MixingMatrix.of(W), False

    @property
    def W(self) -> MixingMatrix:
        """The mixing matrix of the current step; None for a centralized method.

        A step that reads it counts as one of ``exchanges``.
        """
        if not self._used:
            self._used = True
            self.exchanges += 1
        return self._W  # type: ignore[return-value]  # a centralized method reads none

    @W.setter
    def W(self, W: MixingMatrix) -> None:
        """Other weights from now on in this step, on the same edges or on some of them."""
        self._W = W

    @abstractmethod
    def mean(self, rows: torch.Tensor) -> torch.Tensor:
        """The mean ``[k]`` of all workers' rows, through a parameter server."""

    @abstractmethod
    def index(self, rows: torch.Tensor) -> float:
        """The synchronization index V of all workers' rows."""

    @abstractmethod
    def send(self, rows: torch.Tensor) -> torch.Tensor:
        """Send rows along all edges; receive those of the workers ``elsewhere`` ``[l, k]``."""

    @abstractmethod
    def swap(self, rows: torch.Tensor) -> torch.Tensor:
        """Send a different row along each edge of an undirected graph.

        Row e of ``[e, k]`` goes along edge e of ``links``, from i to j. Row e of the result is the
        row that i receives from j.
        """

    def relay(self, X: torch.Tensor, received: torch.Tensor) -> None:
        """Send sums of rows along the edges of a tree, and replace each row by a mean, in place.

        m_(i→j) = x_i + Σ_(k≠j) m_(k→i)^(t−1);  x_i ← (x_i + Σ_j m_(j→i)) / n̄_i. Row e of
        ``received`` ``[e, d + 1]`` is m_(j→i) for edge e of ``links``; its last column counts the
        rows in the sum.
        """
        from ngo.gossip.steps.relay import relay

        relay(X, received, self.links()[0], self.swap)

    @abstractmethod
    def mix(self, rows: torch.Tensor, gamma: float = 1.0) -> None:
        """R ← R + γ (W R − R), in place; for γ = 1, R ← W R: sums of neighbours' and own rows."""

    @abstractmethod
    def pull(
        self,
        X: torch.Tensor,
        coupling: Coupling,
        gamma: float,
        run: Run,
        at: torch.Tensor | None = None,
        theirs: torch.Tensor | None = None,
    ) -> None:
        """Pull each row of ``X`` towards its neighbours' rows, in place (``Coupling.step``).

        Rows of ``at``, if it is given, are sent and compared instead of rows of ``X``. With
        ``theirs`` ``[l, d]``, the known rows of ``elsewhere``, nothing is sent.
        """

    def average(self, rows: torch.Tensor) -> None:
        """Each row and that of a random neighbour become their mean: in virtual time only."""
        raise UserError("clock: workers meet in pairs with clock 'asynchronous' only.")

    def elsewhere(self) -> list[int]:
        """The neighbours in other processes from which the own workers receive, in order."""
        return []

    def links(self) -> torch.Tensor:
        """The edges (i, j) from the own workers, ``[2, e]``, in order.

        i is the row of the own worker, j the number of its neighbour.
        """
        import torch

        sent = self.W.transposed
        return torch.stack([sent.receivers, sent.senders])

    def turned(self, links: torch.Tensor) -> torch.Tensor:
        """``[e]``: the places of edges (i, j), which are in order, in the order of (j, i)."""
        i, j = links
        return (self.W.n * j + i).argsort()

    def refuse_directed(self) -> None:
        """Raise a UserError on a directed graph, on which no pull conserves the mean."""
        if self.directed:
            raise UserError(
                "topology: a pull needs an undirected graph; this one is directed, where a method "
                "can only mix."
            )

    def refuse_liars(self) -> None:
        """Raise a UserError in a run with workers that lie: in this exchange, nobody would."""
        if self.liars is not None:
            raise UserError(
                "attack: workers lie in pulls and mixes, and this method exchanges otherwise; it "
                "must be none."
            )

    def count(self, messages: int, row: torch.Tensor) -> None:
        """Count messages of one ``row`` each."""
        self.messages += messages
        self.bytes_sent += messages * row.shape[-1] * row.element_size()


def check_rows(rows: torch.Tensor, n: int) -> None:
    """Raise a ValueError unless there is a row for each of ``n`` workers."""
    if len(rows) != n:
        raise ValueError(f"{len(rows)} rows are exchanged among {n} workers")


class SharedMatrix(Network):
    """The network of one process, which has all rows: nothing moves, but messages are counted."""

    def __init__(self, spread: Map = in_order) -> None:
        """``spread`` distributes columns over threads."""
        super().__init__()
        self._spread = spread

    def mean(self, rows: torch.Tensor) -> torch.Tensor:
        """Each worker sends its row and receives the mean."""
        self.refuse_liars()
        self.count(2 * len(rows), rows)
        return rows.mean(0)

    def index(self, rows: torch.Tensor) -> float:
        """Computed where all rows are: nothing is counted."""
        self.refuse_liars()
        from ngo.gossip.consensus import synchronization_index

        return float(synchronization_index(rows))

    def send(self, rows: torch.Tensor) -> torch.Tensor:
        """A message crosses each directed edge. Other processes receive none."""
        self.count(self.W.edges, rows)
        return rows[:0]

    def swap(self, rows: torch.Tensor) -> torch.Tensor:
        """Each row moves to the place of the edge in the other direction."""
        self.refuse_liars()
        self.count(len(rows), rows)
        return rows[self.turned(self.links()).to(rows.device)]

    def relay(self, X: torch.Tensor, received: torch.Tensor) -> None:
        """By compiled code where that fits."""
        self.refuse_liars()
        from ngo.gossip.steps.relay import compiled_relay
        from ngo.native.shared_work import fits

        if not fits(X, received):
            return super().relay(X, received)
        self.count(len(received), received)
        compiled_relay(X, received, self.W, self.turned(self.links()), self._spread)

    def mix(self, rows: torch.Tensor, gamma: float = 1.0) -> None:
        """One product with W. Liars lie to all others."""
        from ngo.gossip.steps.linear import linear_step, mix

        check_rows(rows, self.W.n)
        if self.liars is None:
            mix(rows, self.W, gamma, spread=self._spread)
        else:
            self.refuse_directed()
            self._among_liars(partial(linear_step, gamma=gamma, spread=self._spread), rows, None)
        self.count(self.W.edges, rows)

    def pull(
        self,
        X: torch.Tensor,
        coupling: Coupling,
        gamma: float,
        run: Run,
        at: torch.Tensor | None = None,
        theirs: torch.Tensor | None = None,
    ) -> None:
        """One gossip step of all workers at once. Liars lie to all others."""
        check_rows(X, self.W.n)
        self.refuse_directed()
        if self.liars is None:
            coupling.step(X, self.W, gamma, run, at=at, out=X, spread=self._spread)
        else:
            step = partial(coupling.step, gamma=gamma, run=run, spread=self._spread)
            self._among_liars(step, X, at)
        if theirs is None:
            self.count(self.W.edges, X)

    def _among_liars(
        self, step: Callable[..., torch.Tensor], X: torch.Tensor, at: torch.Tensor | None
    ) -> None:
        """Replace ``X`` by ``step(X, W, at=at, out=…)``, in which liars lie."""
        liars = cast("Liars", self.liars)
        X.copy_(
            liars.step(lambda X, W, at: step(X, W, at=at, out=X), X, self.W, self.exchanges, at)
        )
