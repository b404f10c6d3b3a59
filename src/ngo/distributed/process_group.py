"""The group of processes that train one run: its connections and its members.

The processes share a store, which outlives any of them: it belongs to the process that started them
(``processes.launch``, or torchrun's agent). A lost process shows as a broken or silent connection.
The remaining processes then hold a roll call in the store, and leave it with the same list of
members.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from ngo.common.registry import UserError, in_a_line
from ngo.distributed.meeting import POLL_SECONDS, Meeting, open_store

# gloo tries to connect this many times, each time for the whole timeout.
CONNECTION_ATTEMPTS = 5

# Each process adds to a number in the store every so many seconds. In a roll call, a process whose
# number stands still for longer than the second is dead.
BEAT_SECONDS, DEAD_SECONDS = 0.5, 5.0

# How long a roll call waits for processes that live: this many seconds if the run stops anyway,
# else this many timeouts, since all processes notice a loss within one.
STOP_PATIENCE, DROP_PATIENCE = 5, 1.5


class PeerUnreachable(Exception):
    """A message could not be sent to a peer, or did not arrive from it."""


class Written(Exception):
    """A process has written the results: none is left to be made."""


class Group:
    """The processes of one run, as seen by one of them, ``me``. Messages go through gloo."""

    #: The processes that are still part of the run, in order.
    members: tuple[int, ...]
    #: The rows that this process has sent to others and their bytes; the bytes of other tensors.
    sent: Counter[str]

    def __init__(self, meeting: Meeting, timeout: float) -> None:
        """Connect all processes; a UserError after ``timeout`` seconds."""
        self.meeting, self.me, self.timeout = meeting, meeting.me, timeout
        self.members, self.sent = tuple(range(meeting.size)), Counter()
        self.generation = 0  # how often the group has been connected again after a loss
        self._connections: Any = None
        threading.Thread(target=self._beat, daemon=True).start()
        try:
            self.connect()
        except PeerUnreachable as error:
            raise UserError(f"distributed: not all processes met: {in_a_line(error)}.") from None

    @property
    def leader(self) -> int:
        """The process that writes the results: the first member."""
        return self.members[0]

    @property
    def others(self) -> list[int]:
        """All members except this process."""
        return [process for process in self.members if process != self.me]

    def exchange(
        self,
        like: torch.Tensor,
        send: Mapping[int, torch.Tensor],
        receive: Mapping[int, int],
    ) -> dict[int, torch.Tensor]:
        """Send rows ``like`` these to each process in ``send``, and receive the given number from
        each process in ``receive``: point to point, and all at the same time.

        Raises PeerUnreachable.
        """
        shape = like.shape[1:]
        received = {q: torch.empty(k, *shape, dtype=like.dtype) for q, k in receive.items()}
        rank, group = self._ranks.index, self._connections
        try:
            works = [group.recv([rows], rank(q), 0) for q, rows in received.items()]
            for q, rows in send.items():
                self.sent["models_sent"] += len(rows)
                self.sent["bytes_sent"] += rows.numel() * rows.element_size()
                works.append(group.send([rows.cpu().contiguous()], rank(q), 0))
            for work in works:
                work.wait(timedelta(seconds=self.timeout))
        except RuntimeError as error:  # a closed connection, or a timeout
            raise PeerUnreachable(str(error)) from None
        return {q: rows.to(like.device) for q, rows in received.items()}

    def total(self, ours: torch.Tensor, how: Any = dist.ReduceOp.SUM) -> torch.Tensor:
        """The sum of the tensors of all members, or their maximum; equal in all processes.

        Raises PeerUnreachable.
        """
        total = ours.to("cpu", copy=True)
        self.sent["other_bytes_sent"] += total.numel() * total.element_size()
        options = dist.AllreduceOptions()
        options.reduceOp, options.timeout = how, timedelta(seconds=self.timeout)
        try:
            if total.numel():
                self._connections.allreduce([total], options).wait()
        except RuntimeError as error:
            raise PeerUnreachable(str(error)) from None
        return total.to(ours.device)

    def roll_call(self, state: object, on_failure: str) -> tuple[dict[int, str], list[Any]]:
        """Agree on the remaining ``members``: the exit reason of each process that was removed, and
        the states of those that remain, which are published as JSON.

        A process that has exited or is dead is no longer a member, nor one that does not appear
        in time. Raises Written.
        """
        self.generation += 1
        ask, roll = self.meeting.ask, f"roll/{self.generation}"
        ask("set", f"{roll}/{self.me}", json.dumps(state))
        start = time.monotonic()
        stop = min(STOP_PATIENCE, self.timeout)
        patience = stop if on_failure == "stop" else DROP_PATIENCE * self.timeout
        beats = dict.fromkeys(self.members, (-1, start))  # the number, and when it changed
        while True:
            if ask("check", ["written"]):
                raise Written
            now = time.monotonic()
            present = [q for q in self.members if ask("check", [f"{roll}/{q}"])]
            gone = [q for q in self.members if ask("check", [f"ended/{q}"])]
            for q in self.members:
                if (number := ask("add", f"beat/{q}", 0)) != beats[q][0]:
                    beats[q] = number, now
            dead = [q for q, (_, changed) in beats.items() if now - changed > DEAD_SECONDS]
            if set(self.members) <= {*present, *gone, *dead} or now - start > patience:
                break
            time.sleep(POLL_SECONDS)
        present = [q for q in present if q not in gone]
        states = [json.loads(ask("get", f"{roll}/{q}")) for q in present]
        # The first process to write its list decides for all.
        decided, states = json.loads(
            self.meeting.first(f"{roll}/met", json.dumps([present, states]))
        )
        lost = [q for q in self.members if q not in decided]
        self.members = tuple(decided)
        return {q: self.meeting.exit_reason(q) or "does not answer" for q in lost}, states

    def close(self) -> None:
        """Close all connections, so that processes that wait for this one notice."""
        self._connections = None

    def connect(self) -> None:
        """Connect the members with each other. Raises PeerUnreachable.

        After a loss, all members have just held a roll call. If another one is lost here, the
        others must give up soon enough to take part in the next roll call.
        """
        self._ranks = self.members  # those of the connection, even after a member is removed
        patience = self.timeout / CONNECTION_ATTEMPTS if self.generation else self.timeout
        try:
            # Without torch's global group: it could not be left after a failure to connect.
            self._connections = dist.ProcessGroupGloo(
                dist.PrefixStore(f"generation/{self.generation}", self.meeting.store),
                self.members.index(self.me),
                len(self.members),
                timedelta(seconds=patience),
            )
        except RuntimeError as error:
            raise PeerUnreachable(str(error)) from None

    def _beat(self) -> None:
        # The meeting's connection to the store is busy while gloo connects.
        with suppress(RuntimeError):
            store = open_store(self.meeting.place, self.timeout)
            while True:
                store.add(f"beat/{self.me}", 1)
                time.sleep(BEAT_SECONDS)
