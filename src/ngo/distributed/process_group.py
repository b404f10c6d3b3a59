"""The group of processes that train one run, and its connections.

A lost process shows as a broken or silent connection: the others then stop.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from ngo.common.registry import UserError, in_a_line
from ngo.distributed.meeting import POLL_SECONDS, Meeting

# The process that writes the results.
LEADER = 0

# How many seconds a process that has noticed a loss waits for the others to say that they live.
PATIENCE = 5


class PeerUnreachable(Exception):
    """A message could not be sent to a peer, or did not arrive from it."""


class Group:
    """The processes of one run, as seen by one of them, ``me``. Messages go through gloo."""

    #: The rows that this process has sent to others and their bytes; the bytes of other tensors.
    sent: Counter[str]

    def __init__(self, meeting: Meeting, timeout: float) -> None:
        """Connect all processes; a UserError after ``timeout`` seconds."""
        self.meeting, self.me, self.size, self.timeout = meeting, meeting.me, meeting.size, timeout
        self.sent = Counter()
        try:
            # Without torch's global group: a process could not leave it after a failure to connect.
            self._connections: Any = dist.ProcessGroupGloo(
                dist.PrefixStore("group", meeting.store),
                self.me,
                self.size,
                timedelta(seconds=timeout),
            )
        except RuntimeError as error:
            raise UserError(f"distributed: not all processes met: {in_a_line(error)}.") from None

    @property
    def others(self) -> list[int]:
        """All processes except this one."""
        return [process for process in range(self.size) if process != self.me]

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
        group = self._connections
        try:
            works = [group.recv([rows], q, 0) for q, rows in received.items()]
            for q, rows in send.items():
                self.sent["models_sent"] += len(rows)
                self.sent["bytes_sent"] += rows.numel() * rows.element_size()
                works.append(group.send([rows.cpu().contiguous()], q, 0))
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

    def lost(self) -> dict[int, str]:
        """The lost processes with their exit reasons, after a broken connection.

        None is lost if the results are written. The connections of this process are closed, so that
        all others notice a loss, too.
        """
        self._connections = None
        ask, deadline = self.meeting.ask, time.monotonic() + min(PATIENCE, self.timeout)
        ask("set", f"stopped/{self.me}", "")
        while not ask("check", ["written"]):
            absent = [q for q in self.others if not ask("check", [f"stopped/{q}"])]
            reasons = {q: self.meeting.exit_reason(q) for q in absent}
            if all(reasons.values()) or time.monotonic() > deadline:
                return {q: reason or "does not answer" for q, reason in reasons.items()}
            time.sleep(POLL_SECONDS)
        return {}
