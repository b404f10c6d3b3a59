"""Messages that nobody waits for: the newest model of each neighbour, and reports to a leader.

A thread for each peer and direction. Of a worker's models that wait to be sent to a peer only the
newest is kept, and so is only the newest that has arrived. A peer that has nothing to say sends a
sign of life; one that is silent for too long, or whose connection breaks before its goodbye, is
lost.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta

import torch

from ngo.processes import Group

# What a message is, where it is no worker's model: the header's first number, with the step and
# the number of elements that follow.
REPORT, BEAT, BYE = -1, -2, -3

BEATS = 4  # signs of life within the time after which a peer is lost
FOREVER = timedelta(days=365)  # silence is judged here, not by the network


class Mailbox:
    """One process's mail with all others of its group, models of ``d`` float32 elements."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.newest: dict[int, tuple[int, torch.Tensor]] = {}  # worker → its step and row
        self._reports: deque[tuple[int, int, torch.Tensor]] = deque()  # (process, step, report)
        self.broken: set[int] = set()
        self.ended: set[int] = set()
        self._heard = dict.fromkeys(group.others, time.monotonic())
        self._changed = threading.Condition()
        self._out: dict[int, dict[tuple[int, int], tuple[int, torch.Tensor | None]]] = {
            q: {} for q in group.others
        }
        self._sending: set[int] = set()
        self._done: set[int] = set()  # peers that all was sent to
        for q in group.others:
            for loop in (self._send, self._receive):
                threading.Thread(target=self._guarded, args=(loop, q), daemon=True).start()

    def post(self, to: int, worker: int, step: int, row: torch.Tensor) -> None:
        """A worker's model ``[d]`` for a peer, in place of an older one that still waits."""
        self._put(to, (worker, 0), step, row.to(self.group.wire, copy=True))

    def report(self, to: int, step: int, report: torch.Tensor) -> None:
        """A float64 vector that will arrive, whatever else does."""
        self._put(to, (REPORT, step), step, report.cpu())

    def settle(self) -> None:
        """Forget the models that still wait, and return when none is under way."""
        with self._changed:
            for out in self._out.values():
                for key in [key for key in out if key[0] >= 0]:
                    del out[key]
        self.wait_for(lambda: not self._sending - self.lost())

    def goodbye(self) -> None:
        """The last word to all peers; returns when all is said on both sides, or one is lost."""
        for q in self._out:
            self._put(q, (BYE, 0), 0, None)

        def said() -> bool:
            others = set(self.group.others)
            return others <= self.ended & self._done or bool(others & self.lost())

        self.wait_for(said)

    def lost(self) -> set[int]:
        """Peers whose connection broke, or that were silent for the group's timeout."""
        late = time.monotonic() - self.group.timeout
        silent = {q for q, heard in self._heard.items() if heard < late}
        return (self.broken | silent) - self.ended

    def arrived_reports(self) -> list[tuple[int, int, torch.Tensor]]:
        """Reports not taken yet: (process, step, report) of each."""
        return [self._reports.popleft() for _ in range(len(self._reports))]

    def wait_for(self, said: Callable[[], bool]) -> None:
        """Return when ``said`` is true, looking again at each message and each sign of life."""
        with self._changed:
            while not said():
                self._changed.wait(self.group.timeout / BEATS)

    def _put(self, to: int, key: tuple[int, int], step: int, tensor: torch.Tensor | None) -> None:
        with self._changed:
            self._out[to][key] = (step, tensor)
            self._changed.notify_all()

    def _guarded(self, loop: Callable[[int], None], peer: int) -> None:
        try:
            loop(peer)
        except RuntimeError:
            with self._changed:
                self.broken.add(peer)
                self._changed.notify_all()

    def _send(self, to: int) -> None:
        out = self._out[to]
        kind = BEAT
        while kind != BYE:
            with self._changed:
                self._sending.discard(to)
                self._changed.notify_all()
                self._changed.wait_for(lambda: out, self.group.timeout / BEATS)
                key = next(iter(out), (BEAT, 0))
                kind, (step, tensor) = key[0], out.pop(key, (0, None))
                if kind >= 0:
                    self._sending.add(to)
            size = 0 if tensor is None else tensor.numel()
            self.group.isend(torch.tensor([kind, step, size]), to, "control").wait(FOREVER)
            if tensor is not None:
                purpose = "gossip" if kind >= 0 else "reports"
                self.group.isend(tensor[None], to, purpose).wait(FOREVER)
        with self._changed:
            self._done.add(to)
            self._changed.notify_all()

    def _receive(self, source: int) -> None:
        header = torch.empty(3, dtype=torch.int64)
        while True:
            self.group.irecv(header, source).wait(FOREVER)
            kind, step, size = header.tolist()
            if size:
                dtype = torch.float64 if kind == REPORT else torch.float32
                tensor = torch.empty(1, size, dtype=dtype)
                self.group.irecv(tensor, source).wait(FOREVER)
            with self._changed:
                self._heard[source] = time.monotonic()
                if kind >= 0:
                    self.newest[kind] = (step, tensor[0])
                elif kind == REPORT:
                    self._reports.append((source, step, tensor[0]))
                elif kind == BYE:
                    self.ended.add(source)
                self._changed.notify_all()
            if kind == BYE:
                return
