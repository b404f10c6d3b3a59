"""Messages for which no step waits: the newest row of each neighbour, and reports to the leader.

Each peer has one thread that sends and one that receives. Only a worker's newest row waits to be
sent to a peer, and only the newest row that has arrived is kept. An idle process sends heartbeats.
A peer is lost if it is silent for too long, or if its connection breaks before its goodbye.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta

import torch

from ngo.distributed.process_group import Group

# A header of three numbers precedes each message: its kind, its step, and its number of elements.
# The kind is the number of a worker, for a row, or one of these.
REPORT, HEARTBEAT, GOODBYE = -1, -2, -3

# Heartbeats within the timeout.
HEARTBEATS = 4

# For torch; the timeout of a group is checked here.
NO_TIMEOUT = timedelta(days=365)


class Mailbox:
    """The messages between one process and all others of its group. Rows are float32."""

    #: The newest row of each worker of other processes, with its step.
    newest: dict[int, tuple[int, torch.Tensor]]

    def __init__(self, group: Group) -> None:
        self.group = group
        self.newest = {}
        # Received reports: (process, step, report).
        self._reports: deque[tuple[int, int, torch.Tensor]] = deque()
        # Peers whose connection is broken; peers that have said goodbye, and to which this process
        # has; peers to which a row is on its way.
        self._broken: set[int] = set()
        self._finished: set[int] = set()
        self._done: set[int] = set()
        self._sending: set[int] = set()
        # When each peer was last heard of.
        self._heard = dict.fromkeys(group.others, time.monotonic())
        # Messages that wait for each peer, by kind and, for reports, step.
        self._out: dict[int, dict[tuple[int, int], tuple[int, torch.Tensor | None]]] = {
            q: {} for q in group.others
        }
        self._changed = threading.Condition()
        for q in group.others:
            for loop in (self._send, self._receive):
                threading.Thread(target=self._guarded, args=(loop, q), daemon=True).start()

    def post(self, to: int, worker: int, step: int, row: torch.Tensor) -> None:
        """Send the row ``[d]`` of a worker to a peer; it replaces an older one that waits."""
        self._put(to, (worker, 0), step, row.to(self.group.wire, copy=True))

    def post_report(self, to: int, step: int, report: torch.Tensor) -> None:
        """Send a float64 vector, which no later message replaces."""
        self._put(to, (REPORT, step), step, report.cpu())

    def drop_unsent(self) -> None:
        """Drop the rows that wait, and return when none is on its way."""
        with self._changed:
            for out in self._out.values():
                for key in [key for key in out if key[0] >= 0]:
                    del out[key]
        self.wait_for(lambda: not self._sending - self.lost())

    def say_goodbye(self) -> None:
        """Send the last message to all peers; returns when all have sent theirs, or one is lost."""
        for q in self._out:
            self._put(q, (GOODBYE, 0), 0, None)

        def finished() -> bool:
            others = set(self.group.others)
            return others <= self._finished & self._done or bool(others & self.lost())

        self.wait_for(finished)

    def lost(self) -> set[int]:
        """Peers whose connection is broken, or that were silent for the timeout of the group."""
        deadline = time.monotonic() - self.group.timeout
        silent = {q for q, heard in self._heard.items() if heard < deadline}
        return (self._broken | silent) - self._finished

    def take_reports(self) -> list[tuple[int, int, torch.Tensor]]:
        """The reports received since the last call: (process, step, report) of each."""
        return [self._reports.popleft() for _ in range(len(self._reports))]

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Return when ``condition`` is true. It is checked after each message and heartbeat."""
        with self._changed:
            while not condition():
                self._changed.wait(self.group.timeout / HEARTBEATS)

    def _put(self, to: int, key: tuple[int, int], step: int, tensor: torch.Tensor | None) -> None:
        with self._changed:
            self._out[to][key] = (step, tensor)
            self._changed.notify_all()

    def _guarded(self, loop: Callable[[int], None], peer: int) -> None:
        try:
            loop(peer)
        except RuntimeError:
            with self._changed:
                self._broken.add(peer)
                self._changed.notify_all()

    def _send(self, to: int) -> None:
        out = self._out[to]
        kind = HEARTBEAT
        while kind != GOODBYE:
            with self._changed:
                self._sending.discard(to)
                self._changed.notify_all()
                self._changed.wait_for(lambda: out, self.group.timeout / HEARTBEATS)
                key = next(iter(out), (HEARTBEAT, 0))
                kind, (step, tensor) = key[0], out.pop(key, (0, None))
                if kind >= 0:
                    self._sending.add(to)
            size = 0 if tensor is None else tensor.numel()
            self.group.isend(torch.tensor([kind, step, size]), to, "control").wait(NO_TIMEOUT)
            if tensor is not None:
                purpose = "gossip" if kind >= 0 else "reports"
                self.group.isend(tensor[None], to, purpose).wait(NO_TIMEOUT)
        with self._changed:
            self._done.add(to)
            self._changed.notify_all()

    def _receive(self, source: int) -> None:
        header = torch.empty(3, dtype=torch.int64)
        while True:
            self.group.irecv(header, source).wait(NO_TIMEOUT)
            kind, step, size = header.tolist()
            if size:
                dtype = torch.float64 if kind == REPORT else torch.float32
                tensor = torch.empty(1, size, dtype=dtype)
                self.group.irecv(tensor, source).wait(NO_TIMEOUT)
            with self._changed:
                self._heard[source] = time.monotonic()
                if kind >= 0:
                    self.newest[kind] = (step, tensor[0])
                elif kind == REPORT:
                    self._reports.append((source, step, tensor[0]))
                elif kind == GOODBYE:
                    self._finished.add(source)
                self._changed.notify_all()
            if kind == GOODBYE:
                return
