"""Processes that tests start: each ends in time, or is killed with all its descendants."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import TypeVar

import psutil
import pytest

LIMIT = 600  # seconds; nothing here takes that long, even on a busy machine

T = TypeVar("T")
_started: list[subprocess.Popen] = []


def start(command: Sequence[object], **how: object) -> subprocess.Popen:
    """Start a process, in its own process group, that ends with the test at the latest.

    Its standard output and standard error are text pipes, unless ``how`` says otherwise.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*map(str, command)], start_new_session=True, **{**pipes, **how})
    _started.append(process)
    return process


def ended(process: subprocess.Popen, within: float = LIMIT) -> tuple[str, str]:
    """The output and the errors of a process, read until it ends and its pipes are closed."""
    try:
        return process.communicate(timeout=within)
    except subprocess.TimeoutExpired as late:
        kill(process)
        said = b"".join(filter(None, (late.stdout, late.stderr))).decode(errors="replace")
        pytest.fail(f"not ended within {within} s: {process.args}\n{said}")


def finished(process: subprocess.Popen, code: int = 0, within: float = LIMIT) -> str:
    """The output of a process, which must end with the exit code ``code``."""
    out, errors = ended(process, within)
    assert process.returncode == code, f"{out}\n{errors}"
    return out


def snakemake(folder: object, *arguments: object, code: int = 0) -> str:
    """What Snakemake says in ``folder`` on one core; it must end with the exit code ``code``."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    return finished(start(command, cwd=folder, stderr=subprocess.STDOUT), code)


def awaited(
    found: Callable[[], T], process: subprocess.Popen | None = None, within: float = LIMIT
) -> T:
    """The first true value that ``found`` returns; ``process`` must run until then."""
    end = time.monotonic() + within
    while not (value := found()):
        if process is not None and process.poll() is not None:
            pytest.fail(f"ended too early: {process.args}\n{ended(process)}")
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return value


def exit_code(process: BaseProcess) -> int:
    """The exit code of a process of ``multiprocessing`` that ends in time, or is killed."""
    process.join(LIMIT)
    process.kill()
    process.join()
    return process.exitcode


def with_children(process: subprocess.Popen) -> list[psutil.Process]:
    """A process and its descendants; empty if it has ended."""
    if process.poll() is not None:
        return []
    leader = psutil.Process(process.pid)
    return [leader, *leader.children(recursive=True)]


def kill(process: subprocess.Popen) -> None:
    """Kill a process, its descendants, and the rest of its process group."""
    for each in with_children(process):
        with suppress(psutil.NoSuchProcess):
            each.kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(LIMIT)


def kill_all() -> None:
    """Kill all processes of ``start`` that still run."""
    while _started:
        kill(_started.pop())
