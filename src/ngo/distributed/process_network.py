"""The network of a process that holds some of the workers.

Rows go point to point, from neighbour to neighbour. Operations on all workers (a parameter server,
the index V, an evaluation) go through the leader, the first process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain

import torch

from ngo.common.registry import UserError
from ngo.distributed.lies import among_liars
from ngo.distributed.moments import joint_moments, moments
from ngo.distributed.placement import shares
from ngo.distributed.process_group import Group, PeerUnreachable
from ngo.gossip.coupling import Coupling
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.neighbourhood import mix_rows, pull_rows
from ngo.gossip.network import Network, check_rows
from ngo.gossip.step import Run
from ngo.gossip.steps.linear import linear_step
from ngo.gossip.weight_rule import WEIGHT_RULES
from ngo.gossip.weights import without_workers
from ngo.native.pool import Map

#: ``(step, reports)`` → whether the run ends: records an evaluation.
Record = Callable[[int, dict[int, torch.Tensor]], bool]

# How long a roll call waits: this many seconds if the run stops anyway, else this many timeouts,
# since all processes notice a loss within one.
STOP_PATIENCE, DROP_PATIENCE = 5, 1.5

# Numbers in a report for each worker: its loss and its accuracy.
SCORES = 2


class ProcessNetwork(Network):
    """A network whose step ends when the rows of all neighbours have arrived.

    Its methods raise ``process_group.PeerUnreachable``.
    """

    #: The workers of each process, and those of this one.
    shares: list[range]
    own: range
    #: The current step of the own workers.
    step: int
    #: By how many steps each received row was older than the step that used it.
    stale: list[int]

    def __init__(self, group: Group, workers: int, spread: Map) -> None:
        """``spread`` divides columns among threads."""
        super().__init__()
        self.group = group
        self._spread = spread
        self.shares = shares(workers, len(group.members))
        self.own = self.shares[group.me]
        self.step = 0
        self.stale = []

    def set_matrix(self, W: torch.Tensor | MixingMatrix | None) -> None:
        """Begin a step with its mixing matrix, recomputed without lost workers."""
        lost = {i for q, own in enumerate(self.shares) if q not in self.group.members for i in own}
        if lost and W is not None:
            W = without_workers(W, lost, WEIGHT_RULES[self.weights])
        super().set_matrix(W)

    def mean(self, rows: torch.Tensor) -> torch.Tensor:
        """The leader is the parameter server."""
        self.refuse_liars()
        mean = self.uncounted_mean(rows)
        self.count(2 * len(rows), rows)
        return mean

    def uncounted_mean(self, rows: torch.Tensor) -> torch.Tensor:
        """The mean of all workers' rows, for an operation that is not part of the method."""
        shapes = {q: (len(self.shares[q]), rows.shape[1]) for q in self.group.members}

        def answer(parts: dict[int, torch.Tensor]) -> torch.Tensor:
            return torch.cat(list(parts.values())).mean(0)

        return self.group.ask_leader(rows, shapes, answer, (rows.shape[1],))

    def index(self, rows: torch.Tensor) -> float:
        """The leader computes V from the moments of all processes."""
        self.refuse_liars()
        mean, V = moments(rows)

        def answer(parts: dict[int, torch.Tensor]) -> torch.Tensor:
            joined = joint_moments((len(self.shares[q]), m[1:], m[0]) for q, m in parts.items())
            return joined[1][None]

        question = torch.cat([V[None], mean])
        shapes = dict.fromkeys(self.group.members, tuple(question.shape))
        return float(self.group.ask_leader(question, shapes, answer, (1,)))

    def send(self, rows: torch.Tensor) -> torch.Tensor:
        """Each row goes once to each process with a neighbour."""
        return self._exchange(rows)[1]

    def swap(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows of edges within this process change places; the others go to their processes."""
        self.refuse_liars()
        links, me = self.links(), self.group.me
        places = {q: among(links[1], own).nonzero().flatten() for q, own in enumerate(self.shares)}
        parts = {q: rows[e.to(rows.device)] for q, e in places.items() if len(e)}
        here = {me: parts.pop(me)} if me in parts else {}
        shapes = {q: tuple(part.shape) for q, part in parts.items()}
        received = self.group.exchange(parts, shapes, "gossip", rows.dtype)
        swapped = torch.empty_like(rows)
        for q, part in {**here, **received}.items():
            # They are in the order of the sender's links, (j, i) for (i, j).
            order = places[q][self.turned(links[:, places[q]])]
            swapped[order.to(rows.device)] = part.to(rows.device)
        self.count(len(rows), rows)
        return swapped

    def links(self) -> torch.Tensor:
        """Those of the own workers; see ``Network``."""
        i, j = super().links()
        mine = among(i, self.own)
        return torch.stack([i[mine] - self.own.start, j[mine]])

    def mix(self, rows: torch.Tensor, gamma: float = 1.0) -> None:
        """The product of the own rows of W with the rows of the own workers and neighbours."""
        others, received = self._exchange(rows)
        if self.liars is None:
            mix_rows(rows, received, [*self.own, *others], self.W, gamma, spread=self._spread)
        else:
            self.refuse_directed()
            step = partial(linear_step, gamma=gamma, spread=self._spread)
            among_liars(self, step, rows, received, others)

    def pull(
        self,
        X: torch.Tensor,
        coupling: Coupling,
        gamma: float,
        run: Run,
        at: torch.Tensor | None = None,
        theirs: torch.Tensor | None = None,
    ) -> None:
        """The gossip step of the own rows, given the rows of the neighbours."""
        self.refuse_directed()
        if theirs is None:
            others, theirs = self._exchange(X if at is None else at)
        else:
            others = self.elsewhere()
        if self.liars is None:
            workers = [*self.own, *others]
            pull_rows(X, theirs, workers, self.W, coupling, gamma, run, at=at, spread=self._spread)
        else:
            step = partial(coupling.step, gamma=gamma, run=run, spread=self._spread)
            among_liars(self, step, X, theirs, others, at)

    def elsewhere(self) -> list[int]:
        """The workers of all processes in ``_sources``."""
        return list(chain(*self._sources().values()))

    def _sources(self) -> dict[int, list[int]]:
        """The workers from which the own ones receive, by process."""
        sources = {q: self._senders(self.shares[q], self.own) for q in self.group.others}
        return {q: workers for q, workers in sources.items() if workers}

    def _senders(self, senders: range, receivers: range) -> list[int]:
        """Those of the ``senders`` that send to ``receivers``, in order."""
        W = self.W
        near = W.senders[among(W.senders, senders) & among(W.receivers, receivers)]
        return near.unique().tolist()

    def _exchange(self, rows: torch.Tensor) -> tuple[list[int], torch.Tensor]:
        """Send the own rows to neighbours, and count them.

        Returns the neighbours in other processes, and their rows.
        """
        check_rows(rows, len(self.own))
        first = self.own.start
        needed = {q: self._senders(self.own, self.shares[q]) for q in self.group.others}
        send = {q: [i - first for i in workers] for q, workers in needed.items() if workers}
        found = self._transfer(rows, send, self._sources())
        self.count(self._edges(), rows)
        return found

    def _transfer(
        self, rows: torch.Tensor, send: Mapping[int, list[int]], receive: Mapping[int, list[int]]
    ) -> tuple[list[int], torch.Tensor]:
        """Send ``rows``, by position, to processes; receive rows, by worker, from processes.

        Returns the workers whose rows were received, and these rows.
        """
        received = self.group.exchange(
            {q: rows[positions] for q, positions in send.items()},
            {q: (len(workers), rows.shape[1]) for q, workers in receive.items()},
            "gossip",
            rows.dtype,
        )
        parts = [received[q].to(rows.device) for q in receive]
        return list(chain(*receive.values())), torch.cat([rows[:0], *parts])

    def _edges(self) -> int:
        """The number of directed edges from the own workers to others, in any process."""
        return int(among(self.W.senders, self.own).sum())

    def totals(self) -> dict[str, int]:
        """What this process has sent so far (see ``joint_evaluations.COUNTS``)."""
        sent = self.group.traffic()
        return {
            "messages": self.messages,
            "message_bytes": self.bytes_sent,
            "models_sent": sent["gossip", "models"],
            "bytes_sent": sent["gossip", "bytes"],
            "other_bytes_sent": sent["reports", "bytes"] + sent["control", "bytes"],
        }

    # The rest is for the participant, between steps.

    def send_report(self, t: int, report: torch.Tensor, record: Record) -> bool:
        """Send this process's report on step ``t`` to the leader, who records the evaluation.

        Reports are float64 vectors of one layout; their lengths differ by the numbers of workers.
        Returns whether the run ends.
        """

        def answer(reports: dict[int, torch.Tensor]) -> torch.Tensor:
            return torch.tensor([record(t, reports)], dtype=torch.float64)

        shared = len(report) - SCORES * len(self.own)
        shapes = {q: (shared + SCORES * len(own),) for q, own in enumerate(self.shares)}
        return bool(self.group.ask_leader(report, shapes, answer, (1,)))

    def finish(self, record: Record, write: Callable[[], None]) -> None:
        """After the last evaluation: the leader writes the results, and the others wait for it.

        If the leader is lost before, the next leader must write them.
        """
        group, leader = self.group, self.group.leader
        if group.me == leader:
            write()
            group.exchange(dict.fromkeys(group.others, torch.zeros(1)), {}, "reports")
        else:
            group.exchange({}, {leader: (1,)}, "reports")

    def drop_unsent(self) -> None:
        """Drop rows that wait to be sent. Here there are none: steps wait for their messages."""

    def reconnect(self, done: int, on_failure: str) -> dict[int, str]:
        """Connect the remaining processes after a loss. Returns the exit reasons of the lost ones.

        ``done`` is the number of steps that this process has taken; all continue from step
        ``group.resume``. Raises a UserError if ``on_failure`` is "stop", or if the others have
        removed this process.
        """
        lost: dict[int, str] = {}
        self.copies.clear()  # of rows that one process has changed, and another may not have
        while True:
            self.group.close()  # so that processes that wait for this one notice, too
            lost |= self._roll_call(done, on_failure)
            try:
                self.group.connect()
                return lost
            except PeerUnreachable:
                continue

    def _roll_call(self, done: int, on_failure: str) -> dict[int, str]:
        timeout = self.group.timeout
        stops = on_failure == "stop"
        patience = min(STOP_PATIENCE, timeout) if stops else DROP_PATIENCE * timeout
        lost = self.group.roll_call(done, self.exchanges, patience)
        self.exchanges = self.group.exchanges
        stopped = f"distributed: process {self.group.me} stops after step {done}:"
        if stops:
            reasons = "; ".join(f"{self.describe(q)} {reason}" for q, reason in lost.items())
            raise UserError(
                f"{stopped} {reasons or 'a connection broke'}. With --on-failure drop the others "
                f"continue."
            )
        if self.group.me in lost:
            raise UserError(
                f"{stopped} it was silent for longer than --timeout {timeout:g}, and the others "
                f"continued without it."
            )
        return lost

    def describe(self, process: int) -> str:
        """The number of a process and the numbers of its workers."""
        own = self.shares[process]
        workers = f"worker {own[0]}" if len(own) == 1 else f"workers {own[0]} to {own[-1]}"
        return f"process {process} ({workers})"


def among(workers: torch.Tensor, some: range) -> torch.Tensor:
    """Whether each of the ``workers`` is one of ``some``."""
    return (workers >= some.start) & (workers < some.stop)
