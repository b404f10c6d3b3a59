"""Which device a run computes on, and that no two runs share a GPU by accident."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ngo.files import try_hold
from ngo.registry import UserError, unknown

DEVICES = ("auto", "cpu", "cuda")


def visible_gpus() -> list[str]:
    """The names of the GPUs that this process may use, without torch's start-up cost."""
    assigned = os.environ.get("CUDA_VISIBLE_DEVICES")
    if assigned is not None:
        return [name for name in assigned.split(",") if name.strip() not in ("", "-1")]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [str(index) for index, line in enumerate(listed.stdout.splitlines()) if "GPU" in line]


def chosen(device: str) -> str:
    """``auto`` as ``cuda`` or ``cpu``; a UserError for an unknown device or an absent GPU."""
    if device not in DEVICES:
        raise unknown("device", device, DEVICES)
    gpus = visible_gpus()
    if device == "cuda" and not gpus:
        raise UserError("device: 'cuda' needs a GPU, and none is visible here; use auto or cpu.")
    return "cuda" if device != "cpu" and gpus else "cpu"


@contextmanager
def claimed(device: str) -> Iterator[str]:
    """A torch device for the time of one run: ``cpu``, or a GPU that no other run has claimed.

    The claim is a lock on a file that the system drops when the process ends, however it ends.
    Where a scheduler gave this job its one GPU, that is the one, and nothing is locked: the
    scheduler's numbers may mean another card in another job.
    """
    if chosen(device) == "cpu":
        yield "cpu"
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # same bytes from run to run
    import torch

    if not torch.cuda.is_available():
        raise UserError("device: a GPU is visible, but torch can't use it; check the driver.")
    torch.use_deterministic_algorithms(True, warn_only=True)
    gpus = visible_gpus()
    if len(gpus) == 1 and "SLURM_JOB_ID" in os.environ:
        yield "cuda:0"
        return
    with ExitStack() as stack:
        yield f"cuda:{_lock_one(gpus, stack)}"


def _lock_one(gpus: list[str], stack: ExitStack) -> int:
    """The position of a GPU that is ours until ``stack`` closes; waits for one to be free."""
    folder = Path(tempfile.gettempdir())
    waiting = False
    while True:
        for position, name in enumerate(gpus):
            file = try_hold(folder / f"ngo-gpu-{os.getuid()}-{name}.lock")
            if file is not None:
                stack.enter_context(file)
                return position
        if not waiting:
            print("all GPUs are in use by other runs: waiting for one", file=sys.stderr)
            waiting = True
        time.sleep(1)
