"""A warm start for short jobs: one process imports what they need, and forks a child for each.

A short job spends most of its time on imports. ``start`` puts a server beside a pipeline; an
``ngo COMMAND`` that finds its socket in the variable ``NGO_WARM`` hands over its arguments, folder,
environment, umask and standard files, waits, and ends with the job's exit code. It remains a
process of its own, with its log and its place under whoever started it: a signal to it reaches the
job, and with it dies the job. Without a server it does the work itself. The kernel of a notebook is
such a job too (``ngo kernel``).

Three processes see to a job. The server accepts its connection and forks a keeper; the keeper forks
the worker, which does the job, and outlives the server if need be::

    ngo COMMAND ──socket── keeper ── worker
                             │
    pipeline ─────stdin─── server

The worker takes neither resource limits nor priority from the client, and tools that measure a
process's memory or CPU time see the client's own.
"""

from __future__ import annotations

import gc
import importlib
import marshal  # quick to import, and both ends are the same Python
import os
import select
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from subprocess import Popen

# Seconds: that a client waits for a server still importing, and a job told to end has to do so.
PATIENCE, GRACE = 60, 5
READY = b"\0"

# What starts warm. Left out is what measures the machine, or asks more of it than a CPU.
COMMANDS = (
    "partition",
    "train",
    "aggregate",
    "classes",
    "consensus",
    "spectra",
    "alignment",
    "samples",
    "notebook",
    "kernel",
    "theory",
)

# What their jobs import: first what training does, then, while no job is waiting, the rest.
FIRST = ("ngo.cli", "ngo.training")
REST = (
    "ngo.results",
    "ngo.alignment",
    "ngo.samples",
    "ngo.theory_tables",
    "ngo.notebooks",
    "ngo.tables",
    "ngo.tuning",
    "ngo.learning_plots",
    "ngo.synchronization_plots",
    "ngo.measured_plots",
    "ngo.consensus_plots",
    "ngo.theory_plots",
    "ngo.dynamics",
    "ngo.spectra",
    "fontTools.subset",
    "matplotlib.backends.backend_pdf",
    "papermill",
    "ipykernel.kernelapp",
    "scipy.integrate",
    "scipy.stats",
)


class WarmServer:
    """The handle of a server that ``start`` made; as a context it stops the server at its end."""

    def __init__(self, path: str, process: Popen[bytes] | None = None) -> None:
        self.socket = path
        self._process = process

    def export(self) -> None:
        """Let the jobs that this process starts find the server."""
        os.environ["NGO_WARM"] = self.socket

    def stop(self) -> None:
        """End the server; jobs that have begun go on."""
        import shutil

        if self._process is not None:
            self._process.terminate()
            self._process.communicate()
        shutil.rmtree(os.path.dirname(self.socket), ignore_errors=True)

    def __enter__(self) -> WarmServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start() -> WarmServer:
    """Start a server that lives until it is stopped, and no longer than this process.

    Jobs may name its ``socket`` at once: those that come while it imports wait for it. Where a
    process that has imported torch can't be forked safely (macOS), or the temporary folder's path
    is too long for a socket, the handle has no server, and jobs start cold.
    """
    import atexit
    import subprocess
    import tempfile

    path = os.path.join(tempfile.mkdtemp(prefix="ngo-"), "warm")  # a folder that is ours alone
    if sys.platform != "linux":
        return WarmServer(path)
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(path)
        except OSError:
            return WarmServer(path)
        listener.listen()
        # Its own session, so that Ctrl-C ends jobs through their clients, and the server last.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ngo.warm", str(listener.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    server = WarmServer(path, process)
    atexit.register(server.stop)
    return server


def ask(path: str, argv: Sequence[str]) -> int | None:
    """The exit code of ``argv``, done by the server at ``path``; None where the caller has to.

    That is so for all but COMMANDS, for training on a GPU or in several processes, and where no
    server takes the job.
    """
    command = argv[1] if len(argv) > 1 else None
    if command not in COMMANDS:
        return None
    if command == "train" and (
        ("--device", "cpu") not in pairwise(argv) or "--distributed" in argv
    ):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.settimeout(PATIENCE)
            connection.connect(path)
            if connection.recv(1) != READY:
                return None
            connection.settimeout(None)
            request = marshal.dumps((list(argv), os.getcwd(), dict(os.environ), _umask()))
            socket.send_fds(connection, [len(request).to_bytes(8, "big")], [0, 1, 2])
            connection.sendall(request)
        except OSError:
            return None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: connection.send(bytes([number])))
        code = connection.recv(1)
    if not code:
        print("ngo: the process that did this job was killed", file=sys.stderr)
    return code[0] if code else 128 + signal.SIGKILL


def serve(listener: socket.socket) -> None:
    """Fork a keeper for each connection, until standard input ends, as it does with the parent."""
    import shutil

    try:
        for module in FIRST:
            importlib.import_module(module)
        rest = deque(REST)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended keepers go by themselves
        while True:
            ready = select.select([sys.stdin, listener], [], [], 0 if rest else None)[0]
            if sys.stdin in ready:
                return
            if listener in ready:
                connection, _ = listener.accept()
                gc.freeze()  # leaves the pages of what was imported shared
                _fork(partial(_keep, connection, listener))
                connection.close()
            elif rest:
                importlib.import_module(rest.popleft())
    finally:
        shutil.rmtree(os.path.dirname(listener.getsockname()), ignore_errors=True)


def _keep(connection: socket.socket, listener: socket.socket) -> None:
    """Fork the worker for one client, hand on signals, end the one when the other ends."""
    listener.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # A client that loses patience, or its life, is no error.
    with suppress(ConnectionError, EOFError):
        connection.sendall(READY)
        size, files, _, _ = socket.recv_fds(connection, 8, 3)
        job = marshal.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        ended, alive = os.pipe()  # the worker holds ``alive`` for as long as it lives
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
    """Do the job in this process, after making it what the client's own would be."""
    import tempfile
    import time

    import torch

    from ngo.cli import main

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
    # What was read from the environment when modules were imported.
    time.tzset()
    tempfile.tempdir = None
    threads = environment.get("OMP_NUM_THREADS", "")
    if threads.isdecimal() and int(threads):
        torch.set_num_threads(min(int(threads), torch.get_num_threads()))
    sys.argv = argv
    main(prog_name="ngo")


def _fork(work: Callable[[], object]) -> int:
    """The id of a child that does ``work`` and then ends as a program does."""
    child = os.fork()
    if child == 0:
        _end(work)
    return child


def _end(work: Callable[[], object]) -> NoReturn:
    """Do ``work`` and end; 0, what ``sys.exit`` was given, or 1 with a traceback."""
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
        os._exit(code)  # tearing torch down takes longer than a short run


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
