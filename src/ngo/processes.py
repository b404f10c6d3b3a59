"""Processes that work on one run together: how they start, find each other, and lose each other.

They find each other through a store, which any of them may leave: it is held by the process that
started them (:func:`launch`, or torchrun's agent). A process that no longer answers shows as a
broken or silent connection; the others then meet at a roll call in the store, which all leave with
one list of who is there.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from multiprocessing.connection import wait
from typing import NoReturn

import torch
import torch.distributed as dist

from ngo.registry import UserError

ON_FAILURE = ("stop", "drop")

# Seconds between two looks at the store, and that processes which stop anyway wait for the rest.
LOOK, GRACE = 0.05, 5

# All that lost one process notice it within a timeout, and meet within this many.
MARGIN = 1.5

# gloo tries this many times to connect, and takes the timeout each time.
TRIES = 5

# Where the store has the line about what is wrong, of the first process that ends with one.
MISTAKE = "mistake"

# Exit code of a process that ends with a line about what is wrong.
MISTAKEN = 2


class Lost(Exception):
    """A process that a message went to, or was to come from, is not there."""


class Group:
    """The processes of one run as one of them, ``me``, sees them.

    ``wire`` is the device that messages leave from: the GPU with NCCL, the CPU with gloo. ``sent``
    counts what this process sent, by purpose: ``(purpose, "models")`` (rows ``[d]``) and
    ``(purpose, "bytes")``.
    """

    def __init__(
        self, store: dist.Store, me: int, size: int, *, backend: str, timeout: float
    ) -> None:
        self.store, self.me, self.members = store, me, tuple(range(size))
        self.backend, self.timeout = backend, timeout
        self.wire = torch.device("cuda" if backend == "nccl" else "cpu")
        self.sent: Counter[tuple[str, str]] = Counter()
        self._counting = threading.Lock()
        self.generation = self.resume = 0
        self.connect()

    @property
    def leader(self) -> int:
        """The process that gathers evaluations and writes the files: the first that is left."""
        return self.members[0]

    @property
    def others(self) -> list[int]:
        """All members but this process."""
        return [process for process in self.members if process != self.me]

    def isend(self, tensor: torch.Tensor, to: int, purpose: str) -> dist.Work:
        """Hand a tensor (rows ``[k, d]``, or a vector) to the network, and count it."""
        self._count(tensor, purpose)
        return dist.isend(tensor, self._ranks.index(to))

    def irecv(self, tensor: torch.Tensor, source: int) -> dist.Work:
        """Fill a tensor from the network."""
        return dist.irecv(tensor, self._ranks.index(source))

    def exchange(
        self,
        send: Mapping[int, torch.Tensor],
        receive: Mapping[int, tuple[int, ...]],
        purpose: str,
        dtype: torch.dtype = torch.float32,
    ) -> dict[int, torch.Tensor]:
        """Send a tensor to each process of ``send``, and get one of the given shape from each of
        ``receive``; point to point, all under way at once. Raises :class:`Lost`.
        """
        got = {q: torch.empty(shape, dtype=dtype, device=self.wire) for q, shape in receive.items()}
        rank = self._ranks.index
        moves = [dist.P2POp(dist.irecv, tensor, rank(q)) for q, tensor in got.items()]
        for q, tensor in send.items():
            self._count(tensor, purpose)
            moves.append(dist.P2POp(dist.isend, tensor.to(self.wire).contiguous(), rank(q)))
        if moves:
            try:
                for work in dist.batch_isend_irecv(moves):
                    work.wait(timedelta(seconds=self.timeout))
            except RuntimeError as error:  # the connection is closed, or nothing came for too long
                raise Lost(str(error)) from None
        return got

    def ask_leader(
        self,
        mine: torch.Tensor,
        shapes: Mapping[int, tuple[int, ...]],
        answer: Callable[[dict[int, torch.Tensor]], torch.Tensor],
        reply: tuple[int, ...],
    ) -> torch.Tensor:
        """Each process's tensor (of the dtype of ``mine``, with the shape in ``shapes``) goes to
        the leader, whose ``answer`` to all of them goes to everyone: a tensor of shape ``reply``.
        """
        to, dtype = self.leader, mine.dtype
        if self.me != to:
            self.exchange({to: mine}, {}, "reports", dtype)
            return self.exchange({}, {to: reply}, "reports", dtype)[to].to(mine.device)
        got = self.exchange({}, {q: shapes[q] for q in self.others}, "reports", dtype)
        said = answer({q: got[q].to(mine.device) if q in got else mine for q in self.members})
        self.exchange(dict.fromkeys(self.others, said), {}, "reports", dtype)
        return said

    def meet(self, done: int, patience: float) -> dict[int, str]:
        """Agree with all that are there on who that is: a roll call, after which the group has new
        ``members``, who go on after step ``resume``. Returns who is gone, and why.

        ``done`` is how many steps this process has completed; all go on where the furthest is. A
        process that has not come within ``patience`` seconds, or that was seen to end, is out.
        """
        self.generation += 1
        roll = f"roll/{self.generation}"
        try:
            self.store.set(f"{roll}/{self.me}", str(done))
            deadline = time.monotonic() + patience
            while True:
                here = [q for q in self.members if self.store.check([f"{roll}/{q}"])]
                ended = [q for q in self.members if self.store.check([f"ended/{q}"])]
                if set(self.members) <= {*here, *ended} or time.monotonic() > deadline:
                    break
                time.sleep(LOOK)
            here = [q for q in here if q not in ended]
            furthest = max(int(self.store.get(f"{roll}/{q}")) for q in here)
            # Whoever is first decides for all.
            view = json.dumps([here, furthest])
            decided, self.resume = json.loads(self.store.compare_set(f"{roll}/met", "", view))
            gone = {q: self.fate(q) for q in self.members if q not in decided}
        except RuntimeError:
            raise UserError(
                f"distributed: process {self.me} stops after step {done}: the store that the "
                f"processes meet in is gone, with the process that held it."
            ) from None
        self.members = tuple(decided)
        return gone

    def fate(self, process: int) -> str:
        """How a process ended, in words."""
        return ending(self.store, process) or "does not answer"

    def close(self) -> None:
        """Close all connections."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def connect(self) -> None:
        """Connect the members with each other. Raises :class:`Lost`.

        After a loss all have just met. If one is lost here again, nobody may be held up for so long
        that it misses the next roll call.
        """
        self._ranks = self.members  # while connected, also where a member is dropped
        patience = self.timeout / TRIES if self.generation else self.timeout
        try:
            dist.init_process_group(
                self.backend,
                store=dist.PrefixStore(f"generation/{self.generation}", self.store),
                rank=self.members.index(self.me),
                world_size=len(self.members),
                timeout=timedelta(seconds=patience),
            )
        except RuntimeError as error:
            if not dist.is_initialized():
                # torch numbers groups in the store's keys, failed ones too, and others may have had
                # no failure. Only the end of a group sets the number back.
                dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
            self.close()
            raise Lost(str(error)) from None

    def _count(self, tensor: torch.Tensor, purpose: str) -> None:
        with self._counting:
            self.sent[purpose, "models"] += len(tensor)
            self.sent[purpose, "bytes"] += tensor.numel() * tensor.element_size()


def ending(store: dist.Store, process: int) -> str | None:
    """How a process ended, in words; None if it has not, or ended well."""
    key = f"ended/{process}"
    return store.get(key).decode() if store.check([key]) else None


# The network interface that no other machine reaches.
LOOPBACK, ADDRESS = "lo0" if sys.platform == "darwin" else "lo", "127.0.0.1"


def _store() -> dist.TCPStore:
    """A store on the loopback address: by itself torch would listen on all."""
    with socket.create_server((ADDRESS, 0)) as server:
        port = server.getsockname()[1]
        return dist.TCPStore(
            ADDRESS, port, is_master=True, wait_for_workers=False, master_listen_fd=server.detach()
        )


def launch(work: Callable[[], object], processes: int, *, timeout: float, on_failure: str) -> None:
    """Do ``work`` (that can be pickled) in ``processes`` processes on this machine, as torchrun
    would; but the end of one is the others' own matter, and nothing listens beyond the machine.

    With ``on_failure`` "stop" it is a UserError if one fails, after the others had ``timeout``
    seconds to stop; with "drop" if all fail, or none has said in the store that the results are
    ``written``. The processes are forked from one that has imported torch and computes nothing,
    and end with this one.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ngo.distributed"])
    store = _store()
    interfaces = dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), LOOPBACK)
    common = {
        "MASTER_ADDR": ADDRESS,
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # the store is here
    }
    started = []
    for k in range(processes):
        mine = {"RANK": str(k), "LOCAL_RANK": str(k)}
        environment = {**interfaces, **os.environ, **common, **mine}
        started.append(context.Process(target=_child, args=(work, environment)))
        started[-1].start()
    failed: dict[int, str] = {}
    try:
        running = {process.sentinel: k for k, process in enumerate(started)}
        while running:
            ready = wait(running, timeout)
            over = (failed and on_failure == "stop") or store.check(["written"])
            if over and not ready:
                break  # the rest hang
            for sentinel in ready:
                k = running.pop(sentinel)
                started[k].join()
                how = _ending(started[k].exitcode)
                if how is not None:
                    store.compare_set(f"ended/{k}", "", how)
                    failed[k] = how
    finally:
        for process in started:
            process.kill()
            process.join()
    if failed and (on_failure == "stop" or len(failed) == processes):
        if store.check([MISTAKE]):
            raise UserError(store.get(MISTAKE).decode())
        k, how = next(iter(failed.items()))
        raise UserError(f"distributed: process {k} of {processes} {how}.")
    if not store.check(["written"]):
        raise UserError("distributed: the process that was to write the results is gone.")


def _ending(code: int) -> str | None:
    """How a process ended, in words; None if all went well."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}" if code else None


def _child(work: Callable[[], object], environment: Mapping[str, str]) -> NoReturn:
    os.environ.clear()
    os.environ.update(environment)
    parent = multiprocessing.parent_process().sentinel
    threading.Thread(target=lambda: (wait([parent]), os._exit(1)), daemon=True).start()
    code = 1
    try:
        work()
        code = 0
    except UserError as error:
        store = dist.TCPStore(
            environment["MASTER_ADDR"], int(environment["MASTER_PORT"]), is_master=False
        )
        store.compare_set(MISTAKE, "", str(error))  # the first may be why the others end
        code = MISTAKEN
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # threads that wait for messages have no end of their own
