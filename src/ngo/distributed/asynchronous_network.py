"""A network on which no worker waits for another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain

import torch

from ngo.common.registry import UserError
from ngo.distributed.mailbox import Mailbox
from ngo.distributed.process_group import Group, PeerUnreachable
from ngo.distributed.process_network import ProcessNetwork, Record, among
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.neighbourhood import mix_rows
from ngo.native.pool import Map


class AsynchronousNetwork(ProcessNetwork):
    """A network whose step uses the newest row received from each neighbour.

    A neighbour in another process from which no row has arrived yet does not take part.
    """

    def __init__(self, group: Group, workers: int, spread: Map) -> None:
        super().__init__(group, workers, spread)
        self._mailbox = Mailbox(group)
        # Reports by step and process, until all processes have sent theirs.
        self._reports: dict[int, dict[int, torch.Tensor]] = {}

    def mix(self, rows: torch.Tensor, gamma: float = 1.0) -> None:
        """The weight of a neighbour whose row has not arrived goes to the worker's own row."""
        others, received = self._exchange(rows)
        present = [*self.own, *others]
        W = self.W
        absent = ~torch.isin(W.senders, torch.tensor(present))
        kept = W.diagonal + torch.bincount(W.receivers[absent], W.weights[absent], W.n)
        W = MixingMatrix(W.n, W.receivers, W.senders, W.weights, kept)
        mix_rows(rows, received, present, W, gamma, spread=self._spread)

    def swap(self, rows: torch.Tensor) -> torch.Tensor:
        """Refused: an older row that has not been sent yet is replaced by a newer one."""
        raise self._waits()

    def elsewhere(self) -> list[int]:
        """Refused: copies of others' rows need every message."""
        raise self._waits()

    def _waits(self) -> UserError:
        return UserError(
            "asynchronous: a method needs every message here, and may miss some; its declaration "
            "must not say asynchronous=True."
        )

    def _transfer(
        self, rows: torch.Tensor, send: Mapping[int, list[int]], receive: Mapping[int, list[int]]
    ) -> tuple[list[int], torch.Tensor]:
        """Leave ``rows`` to the mailbox; take the newest ones that it has."""
        self._check_peers()
        for q, positions in send.items():
            for i in positions:
                self._mailbox.post(q, self.own[i], self.step, rows[i])
        newest = self._mailbox.newest
        found = {j: newest[j] for j in chain(*receive.values()) if j in newest}
        self.stale += [max(0, self.step - step) for step, _ in found.values()]
        received = [row.to(rows.device) for _, row in found.values()]
        return list(found), torch.stack(received) if received else rows[:0]

    def _edges(self) -> int:
        """The directed edges within this process; other rows are counted when they are sent."""
        return int((among(self.W.senders, self.own) & among(self.W.receivers, self.own)).sum())

    def _check_peers(self) -> None:
        """Raise PeerUnreachable if a member is lost."""
        if self._mailbox.lost() & set(self.group.others):
            raise PeerUnreachable("a process does not answer")

    def totals(self) -> dict[str, int]:
        """The rows sent within this process and those sent to others, at one moment."""
        totals = super().totals()
        totals["messages"] += totals["models_sent"]
        totals["message_bytes"] += totals["bytes_sent"]
        return totals

    def drop_unsent(self) -> None:
        """Drop the rows that wait to be sent: no worker needs them after the last step."""
        self._mailbox.drop_unsent()

    def send_report(self, t: int, report: torch.Tensor, record: Record) -> bool:
        """Post this process's report; the leader records the evaluations that are complete."""
        if self.group.me == self.group.leader:
            self._reports.setdefault(t, {})[self.group.me] = report
            self._record_complete(record)
        else:
            self._mailbox.post_report(self.group.leader, t, report)
        return self.group.store.check(["ends"])

    def _record_complete(self, record: Record) -> None:
        for q, t, report in self._mailbox.take_reports():
            self._reports.setdefault(t, {})[q] = report
        for t in sorted(self._reports):
            if not set(self.group.members) <= set(self._reports[t]):
                return
            if record(t, dict(sorted(self._reports.pop(t).items()))):
                self.group.store.set("ends", "")

    def finish(self, record: Record, write: Callable[[], None]) -> None:
        """Wait until all processes have finished; the leader records the rest and writes."""
        self._mailbox.say_goodbye()
        self._check_peers()
        if self.group.me == self.group.leader:
            self._record_complete(record)
            write()

    def reconnect(self, done: int, on_failure: str) -> dict[int, str]:
        """Remove the lost processes. No process waits, so they need not agree."""
        lost = self._mailbox.lost() & set(self.group.others)
        if on_failure == "stop":
            return self._roll_call(done, on_failure)
        leader = self.group.leader
        if leader in lost:
            raise UserError(
                f"distributed: process {self.group.me} stops after step {done}: "
                f"{self.describe(leader)} {self.group.exit_reason(leader)}, and only it collects "
                f"the evaluations of an asynchronous run."
            )
        self.group.members = tuple(q for q in self.group.members if q not in lost)
        return {q: self.group.exit_reason(q) for q in lost}
