"""The meeting of a run's processes, and the connections between them.

They meet through a store, which belongs to the process that started them (``process_run.launch``,
or torchrun's agent). There they exchange short texts by key, before they connect to each other.
Nothing is unpickled. All operations on the store have a time limit, which torch does not give them.
A process that is lost shows as a broken or silent connection, which ends the run.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from verdicts.registry import UserError, in_a_line, shown

# The variables that name the store, this process and the number of processes. torchrun and
# ``process_run.launch`` set them.
VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

# More processes than this are refused.
MOST_PROCESSES = 1024

# Seconds between two polls of the store; and the seconds that its holder waits at the end, so that
# others can read why.
POLL_SECONDS, PARTING_SECONDS = 0.05, 1.0

Terms = Mapping[str, object]

# The key of the store for the line to print, from the first process that fails.
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
        how = "start it with torchrun, or let --processes N start N processes on this machine"
        raise UserError(f"distributed: {', '.join(absent)} not set; {how}.")
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
            fault = f"another process has started as {self.me} of {self.size}"
            wanted = f"the processes must have different numbers, 0 to {self.size - 1}"
            raise UserError(f"RANK: {fault}; {wanted}.")

    def ask(self, operation: str, *arguments: object) -> Any:
        """The answer of the store; a UserError if there is none."""
        try:
            return within(self.timeout, getattr(self.store, operation), *arguments)
        except (RuntimeError, TimeoutError):
            why = "the process that held it has exited, or does not answer"
            line = f"distributed: the store of the processes is unreachable; {why}."
            raise UserError(line) from None

    def gather(self, name: str, value: object, timeout: float = math.inf) -> list[Any]:
        """Publish ``value`` under ``name``, as JSON, and return the values of all processes.

        Raises a UserError if a process refuses the run before all have published, or if values are
        missing after ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        keys = [f"{name}/{q}" for q in range(self.size)]
        self.ask("set", keys[self.me], json.dumps(value))
        while not self.ask("check", keys):
            if self.ask("check", [MISTAKE]):
                raise UserError(self.ask("get", MISTAKE).decode(errors="replace"))
            if time.monotonic() > deadline:
                absent = [str(q) for q, key in enumerate(keys) if not self.ask("check", [key])]
                who, where = ", ".join(absent), f"{self.place.address}:{self.place.port}"
                fault = f"not all processes met at {where} in {timeout:g} s"
                raise self.refusal(f"distributed: {fault}: process {who} did not come.")
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
        first = self.ask("compare_set", MISTAKE, "", message)
        return UserError(first.decode(errors="replace"))

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
    """The first difference: ``process 2 has lr 0.5, process 0 has 0.1``; empty if there is none."""
    for key, expected in terms[0].items():
        for q, facts in enumerate(terms):
            if (value := facts.get(key)) != expected:
                return f"process {q} has {key} {shown(value)}, process 0 has {shown(expected)}"
    return ""


def open_rendezvous(timeout: float) -> Rendezvous:
    """The rendezvous that the environment names; a UserError after ``timeout`` seconds."""
    place = read_place()
    try:
        store = within(timeout, open_store, place, timeout, place.holds_store)
    except (RuntimeError, ValueError, TimeoutError) as error:
        fault = f"found no store of a run at {shown(place.address)}, port {place.port}"
        why = in_a_line(error) if str(error) else "nothing answers"
        line = f"distributed: process {place.me} {fault}, in {timeout:g} s: {why}."
        raise UserError(line) from None
    return Rendezvous(place, store, timeout)


def open_store(place: Place, timeout: float, holds: bool = False) -> dist.TCPStore:
    """A connection to the store, or the store itself."""
    limit = timedelta(seconds=timeout)
    return dist.TCPStore(place.address, place.port, None, holds, limit, wait_for_workers=False)


def within(seconds: float, work: Callable[..., Any], *arguments: object) -> Any:
    """The result or error of ``work``; a TimeoutError if it takes longer.

    Late work goes on in a thread; the process has to end by ``os._exit``.
    """
    return ThreadPoolExecutor(1).submit(work, *arguments).result(seconds)


class Group:
    """The processes of one run, as seen by one of them, ``me``. Messages go through gloo.

    Its methods raise a UserError if a process is lost, or silent for ``timeout`` seconds.
    """

    def __init__(self, rendezvous: Rendezvous, timeout: float) -> None:
        """Connect all processes."""
        self.me, self.size, self.timeout = rendezvous.me, rendezvous.size, timeout
        #: The rows that this process has sent to others and their bytes; bytes of other tensors.
        self.sent: Counter[str] = Counter()
        how = {"store": rendezvous.store, "timeout": timedelta(seconds=timeout)}
        with self._lost():
            dist.init_process_group("gloo", rank=self.me, world_size=self.size, **how)

    @property
    def others(self) -> list[int]:
        """All processes except this one."""
        return [process for process in range(self.size) if process != self.me]

    def exchange(
        self, like: torch.Tensor, send: Mapping[int, torch.Tensor], receive: Mapping[int, int]
    ) -> dict[int, torch.Tensor]:
        """Send rows ``like`` these to each process in ``send``, and receive the given number from
        each process in ``receive``: point to point, and all at the same time.
        """
        shape = like.shape[1:]
        received = {q: torch.empty(k, *shape, dtype=like.dtype) for q, k in receive.items()}
        with self._lost():
            works = [dist.irecv(rows, q) for q, rows in received.items()]
            for q, rows in send.items():
                self.sent["models_sent"] += len(rows)
                self.sent["bytes_sent"] += rows.numel() * rows.element_size()
                works.append(dist.isend(rows.cpu().contiguous(), q))
            for work in works:
                work.wait()
        return {q: rows.to(like.device) for q, rows in received.items()}

    def total(self, ours: torch.Tensor, how: Any = dist.ReduceOp.SUM) -> torch.Tensor:
        """The sum of the tensors of all processes, or their maximum; equal in all processes."""
        total = ours.to("cpu", copy=True)
        self.sent["other_bytes_sent"] += total.numel() * total.element_size()
        with self._lost():
            if total.numel():
                dist.all_reduce(total, how)
        return total.to(ours.device)

    @contextmanager
    def _lost(self) -> Iterator[None]:
        """Turn an error of gloo, for a closed connection or a timeout, into a UserError."""
        try:
            yield
        except RuntimeError as error:
            fault = "has lost another, which has ended or was silent for longer than --timeout"
            line = f"{fault} {self.timeout:g}: {in_a_line(error)}."
            raise UserError(f"distributed: process {self.me} {line}") from None
