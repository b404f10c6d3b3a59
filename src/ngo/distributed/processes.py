"""Start the processes of a run on this machine, and wait for them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import wait
from typing import NoReturn

import torch.distributed as dist

from ngo.common.registry import UserError
from ngo.distributed.meeting import MISTAKE, open_store, read_place

# The exit code of a process that ends with a line.
MISTAKE_EXIT_CODE = 2

# The network interface and the address that no other machine can reach.
LOOPBACK, ADDRESS = "lo0" if sys.platform == "darwin" else "lo", "127.0.0.1"


def launch(work: Callable[[], object], processes: int, *, timeout: float, on_failure: str) -> None:
    """Call ``work``, which is pickled, in new processes on this machine, and wait for them.

    Each has the environment that torchrun would give it, and ends with this process. Unlike with
    torchrun, the failure of one process does not end the others, and no process accepts connections
    from other machines.

    A UserError is raised if a process fails with ``on_failure`` "stop"; the others have ``timeout``
    seconds to stop. With "drop" it is raised if all processes fail, or if none has set the key
    ``written`` of the store.
    """
    # The server has imported torch, and computes nothing: its forks start at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ngo.distributed.process_run"])
    store = _loopback_store()
    common = {
        "MASTER_ADDR": ADDRESS,
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # this process holds the store
    }
    started = []
    failed: dict[int, str] = {}
    try:
        for k in range(processes):
            ranks = {"RANK": str(k), "LOCAL_RANK": str(k)}
            environment = {"GLOO_SOCKET_IFNAME": LOOPBACK, **os.environ, **common, **ranks}
            started.append(context.Process(target=_child, args=(work, environment)))
            started[-1].start()
        running = {process.sentinel: k for k, process in enumerate(started)}
        while running:
            ready = wait(running, timeout)
            over = (failed and on_failure == "stop") or store.check(["written"])
            if over and not ready:
                break  # the remaining processes hang
            for sentinel in ready:
                k = running.pop(sentinel)
                started[k].join()
                if code := started[k].exitcode:
                    failed[k] = f"ended with exit code {code}"
                    if code < 0:
                        failed[k] = f"was killed by {signal.Signals(-code).name}"
                    store.set(f"ended/{k}", failed[k])
    finally:
        for process in started:
            if process.pid:
                process.kill()
                process.join()
    if failed and (on_failure == "stop" or len(failed) == processes):
        if store.check([MISTAKE]):
            raise UserError(store.get(MISTAKE).decode())
        k, reason = next(iter(failed.items()))
        raise UserError(f"distributed: process {k} of {processes} {reason}.")
    if not store.check(["written"]):
        raise UserError("distributed: the process that had to write the results was lost.")


def _loopback_store() -> dist.TCPStore:
    """A store on the loopback address; torch's default is all addresses."""
    with socket.create_server((ADDRESS, 0)) as server:
        port = server.getsockname()[1]
        return dist.TCPStore(
            ADDRESS, port, is_master=True, wait_for_workers=False, master_listen_fd=server.detach()
        )


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
        # The first message is kept: it may be the reason for the others.
        open_store(read_place(), 60.0).compare_set(MISTAKE, "", str(error))
        code = MISTAKE_EXIT_CODE
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # threads that wait for an answer would never end
