"""How methods exchange rows; links that fail and workers that are away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import cast

from ngo.common.devices import sent
from ngo.common.lazy import Tensor, torch
from ngo.common.seeding import torch_stream
from ngo.gossip.attack import Byzantine
from ngo.gossip.card_graphs import joined
from ngo.gossip.consensus_dynamics import synchronization_index, weighed_mean
from ngo.gossip.gossip_step import linear_step, mix
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.topology import DRAWN_IN_FULL
from ngo.native.gossip_step import relayed_sums
from ngo.native.threads import Map, fits, in_order
from verdicts.registry import UserError

#: ``Coupling.step`` with a γ and a run: ``(X, W, at=…, out=…, spread=…)`` → the rows after it.
Pulls = Callable[..., Tensor]


def relay(X: Tensor, received: Tensor, i: Tensor, swap: Callable[[Tensor], Tensor]) -> Tensor:
    """Relay the rows of ``X`` with what was ``received``, in place (``Network.relay``).

    ``i`` ``[e]`` are the rows of ``X`` from which edges begin, in order; ``swap`` is the network's.
    Returns the numbers of models in the new sums, ``[n, 1]``.
    """
    counted = torch.cat([X, X.new_ones(len(X), 1)], 1)
    senders = sent(i, X.device)
    degrees = sent(torch.bincount(i, minlength=len(X)), X.device)

    def relayed() -> Tensor:  # the sums of what each worker has received
        return counted + torch.segment_reduce(received, "sum", lengths=degrees, axis=0)

    messages = relayed()[senders] - received
    received.copy_(swap(messages))
    total = relayed()
    X.copy_(total[:, :-1]).div_(total[:, -1:])
    return total[:, -1:]


class Network:
    """How workers reach each other: here all rows are in one process, and nothing moves.

    ``rows`` are the rows of any matrix ``[n, k]`` of this process's own workers, which are all but
    where processes share them (``distributed.process_network``). The network counts the messages of
    the own workers, and their bytes by the shape of a row, as if each worker were a machine.
    """

    #: Whether the graph is directed.
    directed = False
    #: The Byzantine workers, which send false rows in pulls and mixes, if there are any.
    byzantine: Byzantine | None = None
    #: What each worker counts for, w ``[n]``, float64, where they don't count equally. Then ``W``
    #: is n diag(w) W', which is symmetric (``mixing_matrix.by_shares``).
    worker_shares: Tensor | None = None

    def __init__(self, spread: Map = in_order) -> None:
        """``spread`` distributes columns over threads."""
        self._spread = spread
        self.messages = 0  # rows sent so far
        self.bytes_sent = 0
        self.exchanges = 0  # steps so far in which the mixing matrix was used
        #: Copies of rows of neighbours in other processes, by name (see ``step.Step.copies``).
        self.copies: dict[str, Tensor] = {}
        self._W: MixingMatrix | None = None
        self._used = False

    def set_matrix(self, W: Tensor | MixingMatrix | None) -> None:
        """Begin a step with its mixing matrix, dense or as edges; None if it has none."""
        self._W, self._used = MixingMatrix.of(W) if isinstance(W, torch.Tensor) else W, False

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

    def mean(self, rows: Tensor) -> Tensor:
        """The mean ``[k]`` of all workers' rows, through a parameter server."""
        self.refuse_byzantine()
        self.count(2 * len(rows), rows)
        w = self.worker_shares
        return rows.mean(0) if w is None else weighed_mean(rows, w)

    def index(self, rows: Tensor) -> float:
        """The synchronization index V of all workers' rows; nothing is counted."""
        self.refuse_byzantine()
        return float(synchronization_index(rows, self.worker_shares))

    def send(self, rows: Tensor) -> Tensor:
        """Send rows along all edges; receive those of the workers ``elsewhere`` ``[l, k]``."""
        self.count_edges(rows)
        return rows[:0]

    def neighbours(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Send rows ``[n, k]`` along all edges; what arrives, edge by edge.

        Returns the receivers ``[e]``, as rows of this process's own workers, the weights W_ij
        ``[e, 1]`` and the senders' rows ``[e, k]``. For a part of the model, send only that.
        """
        self.refuse_byzantine()
        all_rows, W = torch.cat([rows, self.send(rows)]), self.near()
        check_rows(all_rows, W.n)
        kept = W.receivers < len(rows)
        receivers, senders = (sent(ends[kept], rows.device) for ends in (W.receivers, W.senders))
        return receivers, W.weights[kept, None].to(rows), all_rows[senders]

    def near(self) -> MixingMatrix:
        """W among the own workers and, after them, those ``elsewhere``."""
        return self.W

    def swap(self, rows: Tensor) -> Tensor:
        """Send a different row along each edge of an undirected graph.

        Row e of ``[e, k]`` goes along edge e of ``links``, from i to j. Row e of the result is the
        row that i receives from j.
        """
        self.refuse_byzantine()
        self.count(len(rows), rows)
        return rows[self.turned(self.links()).to(rows.device)]

    def relay(self, X: Tensor, received: Tensor) -> None:
        """Send sums of rows along the edges of a tree, and replace each row by a mean, in place.

        m_(i→j) = x_i + Σ_(k≠j) m_(k→i)^(t−1);  x_i ← (x_i + Σ_j m_(j→i)) / n̄_i. Row e of
        ``received`` ``[e, d + 1]`` is m_(j→i) for edge e of ``links``; its last column counts the
        rows in the sum.
        """
        self.refuse_byzantine()
        if not fits(X, received):
            relay(X, received, self.links()[0], self.swap)
            return
        self.count(len(received), received)
        W, turned, numbers = self.W, self.turned(self.links()), received[:, -1:].clone()
        counts = relay(X[:, :0], numbers, W.receivers, lambda rows: rows[turned])
        received[:, -1:] = numbers  # the sums of rows are taken in one pass over memory
        relayed_sums(X, received, W.starts, W.senders, turned, counts, spread=self._spread)

    def mix(self, rows: Tensor, gamma: float = 1.0) -> None:
        """R ← R + γ (W R − R), in place; for γ = 1, R ← W R: sums of neighbours' and own rows."""
        check_rows(rows, self.W.n)
        if self.byzantine is None:
            mix(rows, self.W, gamma, spread=self._spread)
        else:
            self.refuse_directed()
            step = partial(linear_step, gamma=gamma, spread=self._spread)
            self._among_byzantine(step, rows, None)
        self.count_edges(rows)

    def pull(
        self, X: Tensor, step: Pulls, at: Tensor | None = None, theirs: Tensor | None = None
    ) -> None:
        """Pull each row of ``X`` towards its neighbours' rows, in place, by a coupling's ``step``.

        Rows of ``at``, if it is given, are sent and compared instead of rows of ``X``. With
        ``theirs`` ``[l, d]``, the known rows of ``elsewhere``, nothing is sent.
        """
        check_rows(X, self.W.n)
        self.refuse_directed()
        step = partial(step, spread=self._spread)
        if self.worker_shares is not None:
            pulls, seen = torch.zeros_like(X), X if at is None else at
            step(pulls, self.W, at=seen, out=pulls)
            X += pulls / sent(len(X) * self.worker_shares, X.device).to(X.dtype)[:, None]
        elif self.byzantine is None:
            step(X, self.W, at=at, out=X)
        else:
            self._among_byzantine(step, X, at)
        if theirs is None:
            self.count_edges(X)

    def average(self, rows: Tensor) -> None:
        """Each row and that of a random neighbour become their mean: in virtual time only."""
        raise UserError("clock: workers meet in pairs with clock 'asynchronous' only.")

    def elsewhere(self) -> list[int]:
        """The neighbours in other processes from which the own workers receive, in order."""
        return []

    def links(self) -> Tensor:
        """The edges (i, j) of an undirected graph from the own workers, ``[2, e]``, in order.

        i is the row of the own worker, j the number of its neighbour.
        """
        return torch.stack([self.W.receivers, self.W.senders])

    def turned(self, links: Tensor) -> Tensor:
        """``[e]``: the places of edges (i, j), which are in order, in the order of (j, i)."""
        i, j = links
        return (self.W.n * j + i).argsort()

    def refuse_directed(self) -> None:
        """Raise a UserError on a directed graph, on which no pull conserves the mean."""
        if self.directed:
            fault = "this one is directed, where a method can only mix"
            raise UserError(f"topology: a pull needs an undirected graph; {fault}.")

    def refuse_byzantine(self) -> None:
        """Raise a UserError in a run with Byzantine workers: this exchange has no false rows."""
        if self.byzantine is not None:
            fault = "workers lie in pulls and mixes, and this method exchanges otherwise"
            raise UserError(f"attack: {fault}; it must be none.")

    def count_edges(self, row: Tensor) -> None:
        """Count a message of one ``row`` along each edge."""
        self.count(self.W.edges, row)

    def count(self, messages: int, row: Tensor) -> None:
        """Count messages of one ``row`` each."""
        self.messages += messages
        self.bytes_sent += messages * row.shape[-1] * row.element_size()

    def _among_byzantine(self, step: Callable[..., Tensor], X: Tensor, at: Tensor | None) -> None:
        """Replace ``X`` by ``step(X, W, at=at, out=…)``, with Byzantine workers."""
        byzantine = cast("Byzantine", self.byzantine)
        X.copy_(byzantine.step(step, X, self.W, self.exchanges, at))


# The steps after which graphs that return are joined no more than once.
PERIOD = 16


class JointNetwork(Network):
    """The networks of several runs as one: its rows are theirs, and no edge leads to another run.

    Each run counts its own messages. Methods with the fact ``joint`` need no more than this.
    """

    def __init__(self, networks: Sequence[Network], spread: Map) -> None:
        super().__init__(spread)
        self.directed = networks[0].directed
        self._networks = networks
        self._joined = lru_cache(PERIOD)(joined)

    def set_matrices(self, matrices: list[MixingMatrix | None]) -> None:
        """Begin a step with the runs' mixing matrices; None for a centralized method."""
        for network, W in zip(self._networks, matrices, strict=True):
            network.set_matrix(W)
        self.set_matrix(None if matrices[0] is None else self._joined(*matrices))

    def mean(self, rows: Tensor) -> Tensor:
        """The mean of each run, in each of its rows ``[n, k]``."""
        of_runs = rows.unflatten(0, (len(self._networks), -1))
        means = [network.mean(part) for network, part in zip(self._networks, of_runs, strict=True)]
        return torch.stack(means)[:, None].expand(of_runs.shape).flatten(0, 1)

    def count_edges(self, row: Tensor) -> None:
        """Each run counts the messages along its edges."""
        for network in self._networks:
            network.count_edges(row)


def check_rows(rows: Tensor, n: int) -> None:
    """Raise a ValueError unless there is a row for each of ``n`` workers."""
    if len(rows) != n:
        raise ValueError(f"{len(rows)} rows are exchanged among {n} workers")


class Failures:
    """The failures of a run. They depend only on its seed and its two rates.

    Every pair of workers is one link. It fails with probability ``link_failure``, in both
    directions of a directed graph. A worker is away with probability ``absence``: it sends nothing,
    and keeps its state. No worker is away in the first step, when methods create their matrices.
    """

    def __init__(self, n: int, seed: int, *, link_failure: float, absence: float) -> None:
        self._n = n
        self._link_failure, self._absence = link_failure, absence
        #: Those of links and of absences, whose states decide what fails later.
        self.streams = torch_stream(seed, "links"), torch_stream(seed, "absence")
        self._links, self._absences = self.streams

    def absent(self, t: int) -> list[int]:
        """The workers that are away in step ``t``; call it once for each step, in order."""
        if not self._absence:
            return []
        drawn = torch.rand(self._n, generator=self._absences, dtype=torch.float64)
        return (drawn < self._absence).nonzero().flatten().tolist() if t > 0 else []

    def matrix(self, W: MixingMatrix, absent: Sequence[int]) -> MixingMatrix:
        """The mixing matrix without the step's failed links; call it once in each step.

        The weight W_ij of a failed link is added to W_jj: it stays with its sender. So the sums of
        columns do not change, and a symmetric matrix stays symmetric and doubly stochastic.
        """
        if not (absent or self._link_failure):
            return W
        i, j = W.receivers, W.senders
        lost = torch.isin(i, torch.tensor(absent)) | torch.isin(j, torch.tensor(absent))
        if self._link_failure:
            lost |= self._drawn(W) < self._link_failure
        return W.without(lost) if lost.any() else W

    def _drawn(self, W: MixingMatrix) -> Tensor:
        """A uniform random number for the link of each edge, ``[edges]``.

        For up to ``DRAWN_IN_FULL`` workers, a number is drawn for each pair of them, so that a link
        fails in the same steps in every graph. For more, for each link of the step's graph.
        """
        if self._n > DRAWN_IN_FULL:
            numbers, draws = W.links
        else:
            low, high = torch.minimum(W.receivers, W.senders), torch.maximum(W.receivers, W.senders)
            numbers, draws = low * self._n + high, self._n**2
        return torch.rand(draws, generator=self._links, dtype=torch.float64)[numbers]


@contextmanager
def unchanged(rows: Sequence[int], *matrices: Tensor) -> Iterator[Callable[[Tensor], None]]:
    """Restore the ``rows`` of ``matrices`` at the end of the block.

    Yields a function that adds one more matrix to these.
    """
    kept: list[tuple[Tensor, Tensor]] = []

    def keep(matrix: Tensor) -> None:
        if rows:
            kept.append((matrix, matrix[rows]))

    for matrix in matrices:
        keep(matrix)
    try:
        yield keep
    finally:
        for matrix, before in kept:
            matrix[rows] = before
