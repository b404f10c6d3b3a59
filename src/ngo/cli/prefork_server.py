"""The process of a prefork server, see ``ngo.cli.prefork``."""

from __future__ import annotations

import gc
import importlib
import marshal
import os
import pkgutil
import select
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

from ngo.cli.prefork import READY

GRACE = 5  # seconds that a job has to stop, after its client is gone

# Imported before the first job: what training needs.
FIRST = ("ngo.cli.cli", "ngo.cli.train_command", "ngo.cli.local_run")

# Imported one by one, while no job waits: modules, and packages with all their modules.
REST = (
    "ngo.cli.partition_command",
    "ngo.cli.aggregate_command",
    "ngo.cli.measurement_commands",
    "ngo.cli.notebook_command",
    "ngo.training.partition_file",
    "ngo.pipeline.notebooks",
    "ngo.figures.making",
    "ngo.figures.curve_panels",
    "ngo.gossip.bounds",
    "ngo.gossip.least_squares",
    # What notebooks and libraries import when they are used.
    "fontTools.subset",
    "matplotlib.backends.backend_pdf",
    "papermill",
    "ipykernel.kernelapp",
    "pylatexenc.latexencode",
    "scipy.integrate",
    "scipy.stats",
)


def serve(listener: socket.socket) -> None:
    """Fork a keeper for each connection, until standard input ends: the parent is dead."""
    import shutil

    try:
        for module in FIRST:
            importlib.import_module(module)
        _read_code()
        rest = deque(REST)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
        while True:
            ready = select.select([sys.stdin, listener], [], [], 0 if rest else None)[0]
            if sys.stdin in ready:
                return
            if listener in ready:
                connection, _ = listener.accept()
                gc.freeze()  # keeps the memory of imported modules shared
                _fork(partial(_keep, connection, listener))
                connection.close()
            elif rest:
                module = importlib.import_module(rest.popleft())
                if module.__name__.startswith("ngo."):
                    inside = pkgutil.iter_modules(getattr(module, "__path__", ()))
                    rest.extendleft(f"{module.__name__}.{each.name}" for each in inside)
    finally:
        shutil.rmtree(os.path.dirname(listener.getsockname()), ignore_errors=True)


def _read_code() -> None:
    """Parse the code that every run executes, so that the fingerprints of jobs need not."""
    from ngo.common.fingerprint import fingerprint
    from ngo.training.code import EVERY_RUN

    fingerprint(*EVERY_RUN)


def _keep(connection: socket.socket, listener: socket.socket) -> None:
    """Fork the worker for one client and forward signals. When one of them ends, end the other."""
    listener.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # A client that gives up or dies is not an error.
    with suppress(ConnectionError, EOFError):
        connection.sendall(READY)
        size, files, _, _ = socket.recv_fds(connection, 8, 3)
        job = marshal.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        ended, alive = os.pipe()  # the worker holds ``alive`` while it runs
        worker = _fork(partial(_work, connection, files, *job))
        for file in (alive, *files):
            os.close(file)
        while ended not in select.select([ended, connection], [], [])[0]:
            signals = connection.recv(16)
            for number in signals or [signal.SIGTERM]:
                os.kill(worker, number)
            if not signals:
                if not select.select([ended], [], [], GRACE)[0]:
                    os.kill(worker, signal.SIGKILL)
                return
        code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
        connection.sendall(bytes([code if code >= 0 else 128 - code]))


def _work(
    connection: socket.socket,
    files: list[int],
    argv: list[str],
    cwd: str,
    environment: dict[str, str],
    umask: int,
) -> None:
    """Do the job, with the folder, environment, umask and streams of the client."""
    import tempfile
    import time

    import torch

    from ngo.cli.cli import main

    connection.close()
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())
    os.chdir(cwd)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(environment)
    # Modules have read these from the environment of the server when they were imported.
    time.tzset()
    tempfile.tempdir = None
    threads = environment.get("OMP_NUM_THREADS", "")
    if threads.isdecimal() and int(threads):
        torch.set_num_threads(min(int(threads), torch.get_num_threads()))
    sys.argv = argv
    main(prog_name="ngo")


def _fork(work: Callable[[], object]) -> int:
    """The id of a child process that does ``work`` and then exits like a program."""
    child = os.fork()
    if child == 0:
        _end(work)
    return child


def _end(work: Callable[[], object]) -> NoReturn:
    """Do ``work`` and exit: with 0, the code of ``sys.exit``, or 1 after a traceback."""
    code = 1
    try:
        try:
            work()
            outcome = 0
        except SystemExit as end:
            outcome = int(end.code or 0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            outcome = 1
        sys.stdout.flush()
        code = outcome
    finally:
        os._exit(code)  # shutting torch down takes longer than a short run


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
