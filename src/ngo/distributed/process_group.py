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
from collections.abc import Callable, Mapping
from datetime import timedelta

import torch
import torch.distributed as dist

from ngo.distributed.store import Store

# Seconds between two polls of the store.
POLL_SECONDS = 0.05

# gloo tries to connect this many times, each time for the whole timeout.
CONNECTION_ATTEMPTS = 5


class PeerUnreachable(Exception):
    """A message could not be sent to a peer, or did not arrive from it."""


class Group:
    """The processes of one run, as seen by one of them, ``me``."""

    #: The processes that are still part of the run, in order.
    members: tuple[int, ...]
    #: The device that messages are sent from: the GPU with NCCL, the CPU with gloo.
    wire: torch.device
    #: The number of times that the group has been connected again after a loss.
    generation: int
    #: The step from which all members continue after the last loss, and the number of exchanges
    #: before it.
    resume: int
    exchanges: int

    def __init__(self, store: Store, me: int, size: int, *, backend: str, timeout: float) -> None:
        """Connect ``size`` processes through the communication ``backend`` (nccl or gloo)."""
        self.store, self.me, self.members = store, me, tuple(range(size))
        self.backend, self.timeout = backend, timeout
        self.wire = torch.device("cuda" if backend == "nccl" else "cpu")
        self._sent: Counter[tuple[str, str]] = Counter()
        self._counting = threading.Lock()
        self.generation = self.resume = self.exchanges = 0
        self.connect()

    @property
    def leader(self) -> int:
        """The process that collects evaluations and writes results: the first member."""
        return self.members[0]

    @property
    def others(self) -> list[int]:
        """All members except this process."""
        return [process for process in self.members if process != self.me]

    def traffic(self) -> Counter[tuple[str, str]]:
        """What this process has sent so far, by purpose: ``(purpose, "models")`` counts rows, and
        ``(purpose, "bytes")`` bytes.
        """
        with self._counting:
            return Counter(self._sent)

    def isend(self, tensor: torch.Tensor, to: int, purpose: str) -> dist.Work:
        """Start to send a tensor (rows ``[k, d]``, or a vector), and count it."""
        self._count(tensor, purpose)
        return dist.isend(tensor, self._ranks.index(to))

    def irecv(self, tensor: torch.Tensor, source: int) -> dist.Work:
        """Start to receive into a tensor."""
        return dist.irecv(tensor, self._ranks.index(source))

    def exchange(
        self,
        send: Mapping[int, torch.Tensor],
        receive: Mapping[int, tuple[int, ...]],
        purpose: str,
        dtype: torch.dtype = torch.float32,
    ) -> dict[int, torch.Tensor]:
        """Send a tensor to each process in ``send``, and receive one of the given shape from each
        process in ``receive``: point to point, and all at the same time.

        Raises PeerUnreachable.
        """
        received = {
            q: torch.empty(shape, dtype=dtype, device=self.wire) for q, shape in receive.items()
        }
        rank = self._ranks.index
        transfers = [dist.P2POp(dist.irecv, tensor, rank(q)) for q, tensor in received.items()]
        for q, tensor in send.items():
            self._count(tensor, purpose)
            transfers.append(dist.P2POp(dist.isend, tensor.to(self.wire).contiguous(), rank(q)))
        if transfers:
            try:
                for work in dist.batch_isend_irecv(transfers):
                    work.wait(timedelta(seconds=self.timeout))
            except RuntimeError as error:  # a closed connection, or a timeout
                raise PeerUnreachable(str(error)) from None
        return received

    def ask_leader(
        self,
        question: torch.Tensor,
        shapes: Mapping[int, tuple[int, ...]],
        answer: Callable[[dict[int, torch.Tensor]], torch.Tensor],
        reply: tuple[int, ...],
    ) -> torch.Tensor:
        """The leader's answer, a tensor of shape ``reply``, to the questions of all members.

        The leader calls ``answer`` with the question of each member. ``shapes`` are the shapes of
        the questions, which have one dtype. Raises PeerUnreachable.
        """
        to, dtype = self.leader, question.dtype
        if self.me != to:
            self.exchange({to: question}, {}, "reports", dtype)
            return self.exchange({}, {to: reply}, "reports", dtype)[to].to(question.device)
        received = self.exchange({}, {q: shapes[q] for q in self.others}, "reports", dtype)
        received = {q: tensor.to(question.device) for q, tensor in received.items()}
        answered = answer({q: received.get(q, question) for q in self.members})
        self.exchange(dict.fromkeys(self.others, answered), {}, "reports", dtype)
        return answered

    def roll_call(self, done: int, exchanges: int, patience: float) -> dict[int, str]:
        """Agree on the remaining ``members`` and on the step from which they ``resume``.

        ``done`` is the number of steps that this process has taken, ``exchanges`` how many of them
        had an exchange; all resume from the step of the most advanced one, with its number of
        exchanges. A process that does not appear within ``patience`` seconds, or that has exited,
        is no longer a member. Returns the exit reason of each process that was removed.
        """
        self.generation += 1
        roll = f"roll/{self.generation}"
        self.store.set(f"{roll}/{self.me}", json.dumps([done, exchanges]))
        deadline = time.monotonic() + patience
        while True:
            present = [q for q in self.members if self.store.check([f"{roll}/{q}"])]
            exited = [q for q in self.members if self.store.check([f"ended/{q}"])]
            if set(self.members) <= {*present, *exited} or time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        present = [q for q in present if q not in exited]
        furthest = max(json.loads(self.store.get(f"{roll}/{q}")) for q in present)
        # The first process to write its list decides for all.
        proposal = json.dumps([present, furthest])
        met = json.loads(self.store.compare_set(f"{roll}/met", "", proposal))
        decided, (self.resume, self.exchanges) = met
        removed = {q: self.exit_reason(q) for q in self.members if q not in decided}
        self.members = tuple(decided)
        return removed

    def exit_reason(self, process: int) -> str:
        """Why a process was lost, in words."""
        return exit_reason(self.store, process) or "does not answer"

    def close(self) -> None:
        """Close all connections."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def connect(self) -> None:
        """Connect the members with each other. Raises PeerUnreachable.

        After a loss, all members have just held a roll call. If another one is lost here, the
        others must give up soon enough to take part in the next roll call.
        """
        self._ranks = self.members  # those of the connection, even after a member is removed
        patience = self.timeout / CONNECTION_ATTEMPTS if self.generation else self.timeout
        try:
            dist.init_process_group(
                self.backend,
                store=dist.PrefixStore(f"generation/{self.generation}", self.store.inner),
                rank=self.members.index(self.me),
                world_size=len(self.members),
                timeout=timedelta(seconds=patience),
            )
        except RuntimeError as error:
            if not dist.is_initialized():
                # torch numbers the groups of a process, failed ones too, and uses the number in the
                # keys of the store. Other processes may not have failed here. Only the destruction
                # of a group resets the number.
                dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
            self.close()
            raise PeerUnreachable(str(error)) from None

    def _count(self, tensor: torch.Tensor, purpose: str) -> None:
        with self._counting:
            self._sent[purpose, "models"] += len(tensor)
            self._sent[purpose, "bytes"] += tensor.numel() * tensor.element_size()


def exit_reason(store: Store, process: int) -> str | None:
    """Why a process failed, in words; None if the store has no failure of it."""
    key = f"ended/{process}"
    return store.get(key) if store.check([key]) else None
