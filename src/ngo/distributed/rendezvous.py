"""How the processes of a run find each other, and the connections between them.

They meet through a store, which outlives any of them: it belongs to the process that started them
(``process_run.launch``, or torchrun's agent). They exchange short strings, by key, before any
connection between them, and after a loss. Nothing is unpickled. An operation without an answer ends
after a time limit, which torch does not have. A lost process shows as a broken or silent
connection. The remaining processes then hold a roll call in the store, and leave it with the same
list of members.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from ngo.common.registry import UserError, in_a_line, shown

# The variables that name the store, this process and the number of processes. torchrun and
# ``process_run.launch`` set them.
VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

# More processes than this are refused.
MOST_PROCESSES = 1024

# Seconds between two polls of the store; and for which the process that holds it waits, before it
# ends, for the others to read why.
POLL_SECONDS, PARTING_SECONDS = 0.05, 1.0

# How many terms, and how many processes of each, a message names.
NAMED = 3

Terms = Mapping[str, object]

# The key of the store under which the first process that fails puts the line to print.
MISTAKE = "mistake"


class Place(NamedTuple):
    """The number of a process, the number of processes, and the address of their store."""

    me: int
    size: int
    address: str
    port: int
    #: The number of this process among those of its machine, and how many these are.
    local_me: int
    local_size: int
    #: Whether this process holds the store. Otherwise its starter does, or process 0.
    holds_store: bool


def read_place() -> Place:
    """The place that the environment gives this process; a UserError for a wrong variable."""
    if absent := [name for name in VARIABLES if not os.environ.get(name)]:
        raise UserError(
            f"distributed: {', '.join(absent)} not set; start it with torchrun, or let "
            f"--processes N start N processes on this machine."
        )
    size = _whole("WORLD_SIZE", 1, MOST_PROCESSES)
    me = _whole("RANK", 0, size - 1)
    port, local_me = _whole("MASTER_PORT", 1, 65_535), _whole("LOCAL_RANK", 0, size - 1, me)
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    local = local_me, _whole("LOCAL_WORLD_SIZE", 1, size, 1)
    return Place(me, size, os.environ["MASTER_ADDR"], port, *local, me == 0 and not agent)


def _whole(name: str, low: int, high: int, default: int = 0) -> int:
    text = os.environ.get(name, str(default))
    if not (text.isdecimal() and len(text) < 9 and low <= int(text) <= high):
        raise UserError(f"{name}: {shown(text)} is not a whole number, {low} to {high}.")
    return int(text)


class Rendezvous:
    """The processes of a run, as seen by one of them, and their store."""

    def __init__(self, place: Place, store: dist.Store, timeout: float) -> None:
        """Come to the rendezvous; a UserError if another process has come with this number."""
        self.place, self.store, self.timeout = place, store, timeout
        self.me, self.size = place.me, place.size
        if self.ask("add", f"came/{self.me}", 1) > 1:
            raise UserError(
                f"RANK: another process has started as {self.me} of {self.size}; the processes "
                f"must have different numbers, 0 to {self.size - 1}."
            )

    def ask(self, operation: str, *arguments: object) -> Any:
        """The answer of the store; a UserError if there is none."""
        try:
            return within(self.timeout, getattr(self.store, operation), *arguments)
        except (RuntimeError, TimeoutError):
            raise UserError(
                "distributed: the store of the processes is unreachable; the process that held it "
                "has exited, or does not answer."
            ) from None

    def text(self, key: str) -> str | None:
        """The string of a key; None if it is not set."""
        found = self.ask("check", [key]) and self.ask("get", key)
        return found.decode(errors="replace") if found else None

    def first(self, key: str, value: str) -> str:
        """Set the string of a key, unless it is set; the string that it has then."""
        return self.ask("compare_set", key, "", value).decode(errors="replace")

    def exit_reason(self, process: int) -> str | None:
        """Why a process failed, in words; None if the store has no failure of it."""
        return self.text(f"ended/{process}")

    def gather(self, name: str, value: object, timeout: float = math.inf) -> list[Any]:
        """Publish ``value`` under ``name``, as JSON, and return the values of all processes.

        Raises a UserError if a process exits or refuses the run before all have published, or if
        values are missing after ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        keys = [f"{name}/{q}" for q in range(self.size)]
        self.ask("set", keys[self.me], json.dumps(value))
        while not self.ask("check", keys):
            reasons = [self.exit_reason(q) for q in range(self.size)]
            if mistake := self.text(MISTAKE):  # which comes before the exits that it causes
                raise UserError(mistake)
            for q, reason in enumerate(reasons):
                if reason:
                    raise UserError(f"distributed: before the first step, process {q} {reason}.")
            if time.monotonic() > deadline:
                absent = [str(q) for q, key in enumerate(keys) if not self.ask("check", [key])]
                raise self.refusal(
                    f"distributed: not all processes met at {self.place.address}:"
                    f"{self.place.port} in {timeout:g} s: process {', '.join(absent)} did not come."
                )
            time.sleep(POLL_SECONDS)
        return [json.loads(self.ask("get", key)) for key in keys]

    def agree(self, name: str, terms: Terms, timeout: float = math.inf) -> None:
        """Return when all processes have published equal ``terms`` under ``name``.

        Raises a UserError in all processes if they differ, with the terms and the processes.
        """
        if message := disagreement(self.gather(name, terms, timeout)):
            raise self.refusal(f"distributed: the processes do not agree: {message}.")

    def refusal(self, message: str) -> UserError:
        """The error that all processes in the rendezvous raise: the first refusal counts."""
        return UserError(self.first(MISTAKE, message))

    @contextmanager
    def failure_published(self) -> Iterator[None]:
        """Publish a failure of the block, so that processes in ``gather`` stop waiting."""
        try:
            yield
        except Exception as error:
            line = f"distributed: process {self.me} stopped with a {type(error).__name__}."
            with suppress(UserError):  # the store may be what has failed
                self.refusal(str(error) if isinstance(error, UserError) else line)
            self.leave()
            raise

    def leave(self) -> None:
        """Wait before this process ends, if it holds the store: others may read there."""
        if self.place.holds_store:
            time.sleep(PARTING_SECONDS)


def disagreement(terms: Sequence[Terms]) -> str:
    """``process 2 has lr 0.5, the others 0.1``; empty if all are equal."""
    differing = []
    for key in terms[0]:
        values = [repr(facts.get(key)) for facts in terms]
        most = Counter(values).most_common(1)[0][0]
        words = [f"process {q} has {key} {shown(facts.get(key))}" for q, facts in enumerate(terms)]
        if few := [words[q] for q, value in enumerate(values) if value != most]:
            others = f"the others {shown(terms[values.index(most)].get(key))}"
            differing.append(", ".join([*few[:NAMED], others]))
    return "; ".join(differing[:NAMED])


def open_rendezvous(timeout: float) -> Rendezvous:
    """The rendezvous that the environment names; a UserError after ``timeout`` seconds."""
    place = read_place()
    try:
        store = within(timeout, open_store, place, timeout, place.holds_store)
    except (RuntimeError, ValueError, TimeoutError) as error:
        why = in_a_line(error) if str(error) else "nothing answers"
        raise UserError(
            f"distributed: process {place.me} found no store of a run at {shown(place.address)}, "
            f"port {place.port}, in {timeout:g} s: {why}."
        ) from None
    return Rendezvous(place, store, timeout)


def open_store(place: Place, timeout: float, holds: bool = False) -> dist.TCPStore:
    """A connection to the store, or the store itself."""
    return dist.TCPStore(
        place.address, place.port, None, holds, timedelta(seconds=timeout), wait_for_workers=False
    )


def within(seconds: float, work: Callable[..., Any], *arguments: object) -> Any:
    """What ``work`` returns or raises; a TimeoutError if it takes longer.

    Late work goes on in a thread; the process has to end by ``os._exit``.
    """
    return ThreadPoolExecutor(1).submit(work, *arguments).result(seconds)


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

    def __init__(self, rendezvous: Rendezvous, timeout: float) -> None:
        """Connect all processes; a UserError after ``timeout`` seconds."""
        self.rendezvous, self.me, self.timeout = rendezvous, rendezvous.me, timeout
        self.members, self.sent = tuple(range(rendezvous.size)), Counter()
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
        ask, roll = self.rendezvous.ask, f"roll/{self.generation}"
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
            self.rendezvous.first(f"{roll}/met", json.dumps([present, states]))
        )
        lost = [q for q in self.members if q not in decided]
        self.members = tuple(decided)
        return {q: self.rendezvous.exit_reason(q) or "does not answer" for q in lost}, states

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
                dist.PrefixStore(f"generation/{self.generation}", self.rendezvous.store),
                self.members.index(self.me),
                len(self.members),
                timedelta(seconds=patience),
            )
        except RuntimeError as error:
            raise PeerUnreachable(str(error)) from None

    def _beat(self) -> None:
        # The rendezvous's connection to the store is busy while gloo connects.
        with suppress(RuntimeError):
            store = open_store(self.rendezvous.place, self.timeout)
            while True:
                store.add(f"beat/{self.me}", 1)
                time.sleep(BEAT_SECONDS)
