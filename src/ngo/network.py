"""How workers in several processes reach each other: the networks that protocols ask.

Models go point to point, from neighbour to neighbour. What needs all workers (a parameter server,
the index V, an evaluation) goes by way of the leader, the first process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain

import torch

from ngo.coupling import gossip_step
from ngo.graphs import without
from ngo.mailbox import Mailbox
from ngo.processes import GRACE, MARGIN, Group, Lost
from ngo.protocols import TOGETHER
from ngo.registry import UserError
from ngo.shares import shares

Record = Callable[[int, dict[int, torch.Tensor]], bool]  # (step, reports) → whether the run ends


class Network:
    """The workers ``own`` of one process among all; a :class:`ngo.protocols.Network`.

    A step ends when the models of all neighbours have come. A process that can't be reached raises
    :class:`ngo.processes.Lost`.
    """

    def __init__(self, group: Group, workers: int) -> None:
        self.group = group
        self.shares = shares(workers, len(group.members))
        self.own = self.shares[group.me]
        self.step = 0  # that the own workers are at
        self.stale: list[int] = []  # by how many steps the models that came were behind it

    def mean(self, G: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The leader is the parameter server."""
        shapes = {q: (len(self.shares[q]), G.shape[1]) for q in self.group.members}

        def answer(rows: dict[int, torch.Tensor]) -> torch.Tensor:
            return torch.cat(list(rows.values())).mean(0)

        return self.group.ask_leader(G, shapes, answer, (G.shape[1],)), 2 * len(G)

    def index(self, X: torch.Tensor) -> float:
        """The leader joins the processes' moments, and says what V is."""
        mean, V = moments(X)

        def answer(parts: dict[int, torch.Tensor]) -> torch.Tensor:
            return joint((len(self.shares[q]), m[1:], m[0]) for q, m in parts.items())[1][None]

        mine = torch.cat([V[None], mean])
        shapes = dict.fromkeys(self.group.members, tuple(mine.shape))
        return float(self.group.ask_leader(mine, shapes, answer, (1,)))

    def send(self, X: torch.Tensor, W: torch.Tensor) -> int:
        """An exchange whose models nobody uses."""
        self._exchange(X, W)
        return self._sent(W)

    def pull(
        self,
        X: torch.Tensor,
        W: torch.Tensor,
        gamma: float,
        p: float,
        at: torch.Tensor | None = None,
    ) -> int:
        """The gossip step of the own rows and their neighbours', of which the own are kept."""
        theirs, rows = self._exchange(X if at is None else at, W)
        ids = [*self.own, *theirs]
        near = W[ids][:, ids]
        near[len(X) :, len(X) :] = 0  # an edge between two others is their matter
        seen = None if at is None else torch.cat([at, rows])
        X.copy_(gossip_step(torch.cat([X, rows]), near, gamma, p, at=seen)[: len(X)])
        return self._sent(W)

    def _exchange(self, X: torch.Tensor, W: torch.Tensor) -> tuple[list[int], torch.Tensor]:
        """Neighbours in other processes, and their rows ``[k, d]``, for the rows ``X``."""
        own = slice(self.own.start, self.own.stop)
        send, receive = {}, {}
        for q in self.group.others:
            edges = W[own, self.shares[q].start : self.shares[q].stop] != 0
            if edges.any():
                send[q] = edges.any(1).nonzero().flatten().tolist()
                receive[q] = [self.shares[q][j] for j in edges.any(0).nonzero().flatten().tolist()]
        return self._mail(X, send, receive)

    def _mail(
        self, X: torch.Tensor, send: Mapping[int, list[int]], receive: Mapping[int, list[int]]
    ) -> tuple[list[int], torch.Tensor]:
        """Send some of the rows ``X`` to processes, and get those of workers of processes."""
        got = self.group.exchange(
            {q: X[rows] for q, rows in send.items()},
            {q: (len(ids), X.shape[1]) for q, ids in receive.items()},
            "gossip",
            X.dtype,
        )
        rows = torch.cat([X[:0], *(got[q].to(X.device) for q in receive)])
        return list(chain(*receive.values())), rows

    def _sent(self, W: torch.Tensor) -> int:
        """The models that the own workers send to neighbours, in whatever process."""
        own = W[self.own.start : self.own.stop]
        return int(own.count_nonzero() - own.diagonal(self.own.start).count_nonzero())

    # What a run asks between steps.

    def conclude(self, t: int, report: torch.Tensor, record: Record) -> bool:
        """Bring this process's report on step ``t`` to the leader, which records it with the
        others' (float64, all of one layout but for their numbers of workers); whether the run ends.
        """

        def answer(reports: dict[int, torch.Tensor]) -> torch.Tensor:
            return torch.tensor([record(t, reports)], dtype=torch.float64)

        shared = len(report) - SCORES * len(self.own)
        shapes = {q: (shared + SCORES * len(own),) for q, own in enumerate(self.shares)}
        return bool(self.group.ask_leader(report, shapes, answer, (1,)))

    def finish(self, record: Record, write: Callable[[], None]) -> None:
        """After the last row: the leader writes the results, and the others wait until it has, for
        if it is lost the next one must.
        """
        group, to = self.group, self.group.leader
        if group.me == to:
            write()
            group.exchange(dict.fromkeys(group.others, torch.zeros(1)), {}, "reports")
        else:
            group.exchange({}, {to: (1,)}, "reports")

    def settle(self) -> None:
        """Before the last report: nothing is under way here."""

    def messages(self, counted: int) -> int:
        """The models sent so far, where the protocol ``counted`` some."""
        return counted

    def present(self, W: torch.Tensor) -> torch.Tensor:
        """The mixing matrix of the workers that are left."""
        lost = {i for q, own in enumerate(self.shares) if q not in self.group.members for i in own}
        return without(W, lost) if lost else W

    def recover(self, done: int, on_failure: str) -> dict[int, str]:
        """After a process was lost: connect all that are left anew; which are gone, and why.

        ``done`` is the number of steps behind this process; ``group.resume`` that at which all
        that are left go on. A UserError if ``on_failure`` is "stop", or this process is out.
        """
        gone: dict[int, str] = {}
        while True:
            self.group.close()  # so that those who wait for this process notice, too
            gone |= self._meet(done, on_failure)
            try:
                self.group.connect()
                return gone
            except Lost:
                continue

    def _meet(self, done: int, on_failure: str) -> dict[int, str]:
        timeout = self.group.timeout
        stops = on_failure == "stop"
        gone = self.group.meet(done, min(GRACE, timeout) if stops else MARGIN * timeout)
        who = f"distributed: process {self.group.me} stops after step {done}:"
        if stops:
            lost = "; ".join(f"{self.called(q)} {how}" for q, how in gone.items())
            raise UserError(
                f"{who} {lost or 'a connection broke'}. With --on-failure drop the rest go on."
            )
        if self.group.me in gone:
            raise UserError(
                f"{who} it was silent for longer than --timeout {timeout:g}, and the others went "
                f"on without it."
            )
        return gone

    def called(self, process: int) -> str:
        """A process by its number and its workers'."""
        own = self.shares[process]
        whose = f"worker {own[0]}" if len(own) == 1 else f"workers {own[0]} to {own[-1]}"
        return f"process {process} ({whose})"


SCORES = 2  # numbers in a report for each worker: its loss and its accuracy


class Asynchronous(Network):
    """A network on which nobody waits: a step takes the newest model that has come of each
    neighbour, and none of a neighbour not heard of yet.
    """

    def __init__(self, group: Group, workers: int) -> None:
        super().__init__(group, workers)
        self._mailbox = Mailbox(group)
        self._reports: dict[int, dict[int, torch.Tensor]] = {}

    def _mail(
        self, X: torch.Tensor, send: Mapping[int, list[int]], receive: Mapping[int, list[int]]
    ) -> tuple[list[int], torch.Tensor]:
        self._listen()
        for q, rows in send.items():
            for i in rows:
                self._mailbox.post(q, self.own[i], self.step, X[i])
        newest = self._mailbox.newest
        came = {j: newest[j] for j in chain(*receive.values()) if j in newest}
        self.stale += [max(0, self.step - step) for step, _ in came.values()]
        rows = [row.to(X.device) for _, row in came.values()]
        return list(came), torch.stack(rows) if rows else X[:0]

    def _sent(self, W: torch.Tensor) -> int:
        """The models that stay in this process; the others are counted as they leave."""
        own = slice(self.own.start, self.own.stop)
        return TOGETHER.send(W[own, own], W[own, own])

    def _listen(self) -> None:
        if self._mailbox.lost() & set(self.group.others):
            raise Lost("a process is silent")

    def messages(self, counted: int) -> int:
        """Those within this process, which the protocol counted, and those that left it."""
        return counted + self.group.sent["gossip", "models"]

    def settle(self) -> None:
        """Forget the models that still wait to be sent: no one needs them after the last step."""
        self._mailbox.settle()

    def conclude(self, t: int, report: torch.Tensor, record: Record) -> bool:
        """Post this process's report; the leader records what is complete by now."""
        if self.group.me == self.group.leader:
            self._reports.setdefault(t, {})[self.group.me] = report
            self._assemble(record)
        else:
            self._mailbox.report(self.group.leader, t, report)
        return self.group.store.check(["ends"])

    def _assemble(self, record: Record) -> None:
        for q, t, report in self._mailbox.arrived_reports():
            self._reports.setdefault(t, {})[q] = report
        for t in sorted(self._reports):
            if not set(self.group.members) <= set(self._reports[t]):
                return
            if record(t, dict(sorted(self._reports.pop(t).items()))):
                self.group.store.set("ends", "")

    def finish(self, record: Record, write: Callable[[], None]) -> None:
        """Say goodbye, and wait until all have; the leader records the rest and writes."""
        self._mailbox.goodbye()
        self._listen()
        if self.group.me == self.group.leader:
            self._assemble(record)
            write()

    def recover(self, done: int, on_failure: str) -> dict[int, str]:
        """Nobody is held up, so there is nothing to agree on: each goes on without the lost."""
        lost = self._mailbox.lost() & set(self.group.others)
        if on_failure == "stop":
            return self._meet(done, on_failure)
        if self.group.leader in lost:
            raise UserError(
                f"distributed: process {self.group.me} stops after step {done}: "
                f"{self.called(self.group.leader)} {self.group.fate(self.group.leader)}, and only "
                f"it gathers the evaluations of an asynchronous run."
            )
        self.group.members = tuple(q for q in self.group.members if q not in lost)
        return {q: self.group.fate(q) for q in lost}


def moments(X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean row ``[d]`` of a state, and its spread Σ‖xᵢ − x̄‖², in float64."""
    X = X.double()
    mean = X.mean(0)
    return mean, (X - mean).square().sum()


def joint(
    parts: Iterable[tuple[int, torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    """The moments of a state from those of its parts: (number of rows, mean, spread) of each."""
    (n, mean, V), *rest = parts
    for k, other, spread in rest:
        apart = other - mean
        mean = mean + apart * (k / (n + k))
        V = V + spread + apart.square().sum() * (n * k / (n + k))
        n += k
    return mean, V
