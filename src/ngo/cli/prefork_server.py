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
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import NoReturn

from ngo.cli.prefork import READY

GRACE = 5  # seconds that a job has to stop, after its client is gone

# Imported before the first job: what training needs.
FIRST = ("ngo.cli.cli", "ngo.cli.train_command", "ngo.cli.local_run")

# Imported one by one, while no job waits: modules, and packages with all their modules.
REST = (
    # What training imports when it is used.
    "filelock",
    "torch.nested._internal.nested_tensor",
    "torch.utils.serialization",
    "ngo.engine",
    "ngo.models",
    "ngo.native.conv_pool_relu",
    "ngo.gossip.weights",
    # The other commands.
    "ngo.cli.partition_command",
    "ngo.cli.aggregate_command",
    "ngo.cli.measurement_commands",
    "ngo.cli.notebook_command",
    "ngo.training.partition_file",
    "ngo.pipeline.notebooks",
    "ngo.analysis",
    "ngo.figures",
    "ngo.gossip.bounds",
    "ngo.gossip.least_squares",
    "ngo.theorems",
    # What notebooks and libraries import when they are used.
    "pandas.core.arrays.arrow.extension_types",
    "pyarrow.dataset",
    "pyarrow.pandas_compat",
    "papermill",
    "ipykernel.kernelspec",
    "ipykernel.zmqshell",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.extensions.storemagic",
    "fontTools.subset",
    "matplotlib.backends.backend_pdf",
    "pandas.io.formats.csvs",
    "pandas.io.formats.style",
    "pylatexenc.latexencode",
    "networkx",
    "scipy.integrate",
    "scipy.stats",
)


def serve(listener: socket.socket) -> None:
    """Fork a worker for each connection, until standard input ends: the parent is dead."""
    import shutil

    try:
        for module in FIRST:
            importlib.import_module(module)
        _prepare()
        rest = deque(REST)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
        while True:
            ready = select.select([sys.stdin, listener], [], [], 0 if rest else None)[0]
            if sys.stdin in ready:
                return
            if listener in ready:
                connection, _ = listener.accept()
                gc.freeze()  # keeps the memory of imported modules shared
                _fork(partial(_work, connection, listener))
                connection.close()
            elif rest:
                module = importlib.import_module(rest.popleft())
                if module.__name__.startswith("ngo."):
                    inside = pkgutil.iter_modules(getattr(module, "__path__", ()))
                    rest.extendleft(f"{module.__name__}.{each.name}" for each in inside)
    finally:
        shutil.rmtree(os.path.dirname(listener.getsockname()), ignore_errors=True)


def _prepare() -> None:
    """Parse the code of which runs take fingerprints, and read the bundled data set: every job
    would do so.
    """
    from ngo.common.fingerprint import fingerprint
    from ngo.data.sets.digits import digits_images
    from ngo.native.pool import one_intra_op_thread
    from ngo.training.code import EVERY_RUN
    from ngo.training.spec import FIELDS

    named = (field.names.definitions for field in FIELDS.values() if field.names is not None)
    fingerprint(*EVERY_RUN, *(code for entries in named for code in entries.values()))
    with one_intra_op_thread():  # a child of a process with torch's threads could not use them
        digits_images()


def _work(connection: socket.socket, listener: socket.socket) -> None:
    """Do one client's job, and send it the exit code. If the client is gone, do nothing."""
    listener.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        connection.sendall(READY)
        size, files, _, _ = socket.recv_fds(connection, 8, 3)
        job = marshal.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    except (ConnectionError, EOFError):
        return
    Thread(target=_obey, args=(connection,), daemon=True).start()
    _end(partial(_do, files, *job), connection)


def _obey(connection: socket.socket) -> None:
    """Pass the signals of the client on to this process. When the client is gone, end it."""
    main_thread = threading.main_thread().ident
    with suppress(ConnectionError):
        while signals := connection.recv(16):
            for number in signals:
                signal.pthread_kill(main_thread, number)
    signal.pthread_kill(main_thread, signal.SIGTERM)
    time.sleep(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


def _do(
    files: list[int], argv: list[str], cwd: str, environment: dict[str, str], umask: int
) -> None:
    """Do a job, with the folder, environment, umask and streams of its client."""
    import tempfile

    import torch

    from ngo.cli.cli import main

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


def _end(work: Callable[[], object], client: socket.socket | None = None) -> NoReturn:
    """Do ``work`` and exit: with 0, the code of ``sys.exit``, or 1 after a traceback.

    The ``client`` is sent the code.
    """
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
        if client is not None:
            with suppress(OSError):
                client.sendall(bytes([code & 0xFF]))
        os._exit(code)  # shutting torch down takes longer than a short run


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
