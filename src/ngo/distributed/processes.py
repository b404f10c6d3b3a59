"""Start the processes of a run on this machine, and wait for them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import NoReturn

import torch.distributed as dist

from ngo.common import plugins
from ngo.common.registry import UserError

# The key of the store under which the first process that fails puts its error message.
MISTAKE = "mistake"

# The exit code of a process that ends with such a message.
MISTAKE_EXIT_CODE = 2

# The network interface and the address that no other machine can reach.
LOOPBACK, ADDRESS = "lo0" if sys.platform == "darwin" else "lo", "127.0.0.1"


def launch(work: Callable[[], object], processes: int, *, timeout: float, on_failure: str) -> None:
    """Call ``work`` in ``processes`` new processes on this machine, and wait for them.

    Each has the environment that torchrun would give it. Unlike with torchrun, the failure of one
    process does not end the others, and no process accepts connections from other machines.
    ``work`` is pickled. Each process first loads the plugins of this process, and ends with it.

    A UserError is raised if a process fails with ``on_failure`` "stop"; the others have ``timeout``
    seconds to stop. With "drop" it is raised if all processes fail, or if none has set the key
    ``written`` of the store.
    """
    # The server has imported torch, and computes nothing: its forks start at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ngo.distributed.process_run"])
    store = _loopback_store()
    interfaces = dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), LOOPBACK)
    common = {
        "MASTER_ADDR": ADDRESS,
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # this process holds the store
    }
    pickled, (files, installed) = pickle.dumps(work), _own_plugins()
    started = []
    for k in range(processes):
        ranks = {"RANK": str(k), "LOCAL_RANK": str(k)}
        environment = {**interfaces, **os.environ, **common, **ranks}
        arguments = (pickled, files, installed, environment)
        started.append(context.Process(target=_child, args=arguments))
        started[-1].start()
    failed: dict[int, str] = {}
    try:
        running = {process.sentinel: k for k, process in enumerate(started)}
        while running:
            ready = wait(running, timeout)
            over = (failed and on_failure == "stop") or store.check(["written"])
            if over and not ready:
                break  # the remaining processes hang
            for sentinel in ready:
                k = running.pop(sentinel)
                started[k].join()
                reason = _reason(started[k].exitcode)
                if reason is not None:
                    store.compare_set(f"ended/{k}", "", reason)
                    failed[k] = reason
    finally:
        for process in started:
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


def _own_plugins() -> tuple[list[Path], bool]:
    """The plugin files of this process, and whether it has plugins of installed packages."""
    found = plugins.loaded()
    files = [each.path for each in found if each.module.startswith(plugins.PREFIX)]
    return files, len(files) < len(found)


def _reason(code: int) -> str | None:
    """The exit reason in words; None after success."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}" if code else None


def _child(
    work: bytes, files: Sequence[Path], installed: bool, environment: Mapping[str, str]
) -> NoReturn:
    os.environ.clear()
    os.environ.update(environment)
    parent = multiprocessing.parent_process().sentinel
    threading.Thread(target=lambda: (wait([parent]), os._exit(1)), daemon=True).start()
    code = 1
    try:
        if installed:
            plugins.load_installed()
        plugins.load(files)
        pickle.loads(work)()  # after the plugins, which may define what it refers to
        code = 0
    except UserError as error:
        store = dist.TCPStore(
            environment["MASTER_ADDR"], int(environment["MASTER_PORT"]), is_master=False
        )
        # The first message is kept: it may be the reason for the others.
        store.compare_set(MISTAKE, "", str(error))
        code = MISTAKE_EXIT_CODE
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # threads that wait for messages would never end
