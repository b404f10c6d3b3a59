"""Messages on their way between workers.

A worker sends one message after another, at the full bandwidth of the link. A message takes its
bytes / bandwidth on the sender's side, and as much on the receiver's, which is later by the
latency: a message that meets no other arrives after one transfer and the latency. On each side,
messages wait for those before them.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterator
from typing import Any

from ngo.common.seeding import numpy_stream
from ngo.training.virtual.parts import LINKS, Presence

# Draws of a stream at a time.
BLOCK = 256


class Wires:
    """All links of a run. Times passed to its functions must not decrease."""

    def __init__(self, run: Any, size: int, presence: Presence, *, replaces: bool) -> None:
        """A message has ``size`` bytes. With ``replaces``, a message that still waits at its sender
        is replaced by a newer one to the same worker.
        """
        self._link = LINKS[run.links].of(run)
        self._size, self._presence, self._replaces = size, presence, replaces
        self._loss = run.message_loss or 0.0
        self._lost = [self._losses(run.seed, i) for i in range(run.workers)] if self._loss else []
        # When each worker's side is free again.
        self._out, self._in = [0.0] * run.workers, [0.0] * run.workers
        # Messages that each worker will receive, by the time at which they begin to arrive:
        # (begin, number, transfer, sender, content).
        self._coming: list[deque[tuple[float, int, float, int, list[Any]]]] = [
            deque() for _ in range(run.workers)
        ]
        # Those whose time of arrival is known: (arrival, sender, content).
        self._arriving: list[deque[tuple[float, int, list[Any]]]] = [
            deque() for _ in range(run.workers)
        ]
        # The last message to a worker that may wait at its sender: when it leaves, its content.
        self._waiting: dict[tuple[int, int], tuple[float, list[Any]]] = {}
        self.messages = 0

    def _losses(self, seed: int, worker: int) -> Iterator[bool]:
        stream = numpy_stream(seed, "message_loss", worker)
        while True:
            yield from (stream.random(BLOCK) < self._loss).tolist()

    def send(self, sender: int, receiver: int, now: float, *content: Any) -> None:
        """Send a message."""
        latency, per_byte = self._link(sender, receiver, now)
        start, transfer = now, per_byte * self._size
        if transfer:
            leaves, waiting = self._waiting.get((sender, receiver), (now, []))
            if self._replaces and leaves > now:
                waiting[:] = content
                return
            start = max(now, self._out[sender])
            self._out[sender] = start + transfer
        self.messages += 1
        if self._loss and next(self._lost[sender]):
            return
        kept = list(content)
        if transfer:
            self._waiting[sender, receiver] = start, kept
        coming = self._coming[receiver]
        message = (start + latency, self.messages, transfer, sender, kept)
        if coming and message < coming[-1]:
            insort(coming, message)
        else:
            coming.append(message)

    def received(self, worker: int, now: float) -> Iterator[tuple[int, list[Any]]]:
        """(sender, content) of what has arrived up to ``now``, since the last call."""
        coming, arriving = self._coming[worker], self._arriving[worker]
        while coming and coming[0][0] <= now:
            begin, _, transfer, sender, content = coming.popleft()
            arrival = max(begin, self._in[worker]) + transfer if transfer else begin
            if transfer:
                self._in[worker] = arrival
            arriving.append((arrival, sender, content))
        while arriving and arriving[0][0] <= now:
            arrival, sender, content = arriving.popleft()
            if self._presence.always or not self._presence.away(worker, arrival):
                yield sender, content

    def meet(self, i: int, j: int, now: float) -> tuple[float, bool]:
        """Two workers exchange a message each, at the same time: the end, and whether both arrived.

        It takes both sides of both workers.
        """
        latency, per_byte = self._link(i, j, now)
        start, transfer = now, per_byte * self._size
        if transfer:
            start = max(now, self._out[i], self._out[j])
            self._out[i] = self._out[j] = start + transfer
        self.messages += 2
        lost = self._loss and (next(self._lost[i]) | next(self._lost[j]))
        return start + transfer + latency, not lost

    def live(self) -> Iterator[list[Any]]:
        """The contents of all messages on their way."""
        for coming, arriving in zip(self._coming, self._arriving, strict=True):
            yield from (message[4] for message in coming)
            yield from (message[2] for message in arriving)
