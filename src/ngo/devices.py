"""Which device a run computes on, and how many runs share a GPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, takewhile
from typing import IO

from ngo.files import held, try_hold
from ngo.registry import UserError, in_a_line, unknown

DEVICES = ("auto", "cpu", "cuda")

# What CUDA takes for the name of a GPU in CUDA_VISIBLE_DEVICES. It ignores all from the first name
# on that is none, such as Slurm's "NoDevFiles" for a job that has no GPU.
GPU_NAME = re.compile(r"\d+|(GPU|MIG)-.+")


def visible_gpus() -> list[str]:
    """The names of the GPUs that this process may use, without torch's start-up cost."""
    assigned = os.environ.get("CUDA_VISIBLE_DEVICES")
    if assigned is not None:
        return list(takewhile(GPU_NAME.fullmatch, map(str.strip, assigned.split(","))))
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [str(index) for index, line in enumerate(listed.stdout.splitlines()) if "GPU" in line]


def check_device(device: str) -> None:
    """Raise a UserError for a device that there is not; other names of GPUs are known."""
    if device in DEVICES:
        return
    if device.partition(":")[0].lower() in ("gpu", "cuda", "nvidia"):
        raise UserError(
            f"device: {device!r} is unknown; allowed: {', '.join(DEVICES)}. Did you mean 'cuda'?"
        )
    raise unknown("device", device, DEVICES)


def chosen(device: str) -> str:
    """``auto`` as ``cuda`` or ``cpu``; a UserError for an unknown device or an absent GPU.

    Whether torch can compute on a GPU that is there is seen when it is claimed.
    """
    check_device(device)
    gpus = visible_gpus()
    if device == "cuda" and not gpus:
        raise UserError("device: 'cuda' needs a GPU, and none is visible here; use auto or cpu.")
    return "cuda" if device != "cpu" and gpus else "cpu"


@contextmanager
def claimed(device: str, runs_per_gpu: int = 1) -> Iterator[str]:
    """A torch device for the time of one run: ``cpu``, or a GPU that fewer than ``runs_per_gpu``
    other runs have claimed, which becomes torch's current one.

    The claim is a lock on a file that the system drops when the process ends, however it ends.
    Where a scheduler gave this job its one GPU, that is the one, and nothing is locked: the
    scheduler's numbers may mean another card in another job. Where torch can't compute on the GPU,
    ``auto`` says why and goes on on the CPU, and ``cuda`` is a UserError.
    """
    if chosen(device) == "cpu":
        yield "cpu"
        return
    import torch

    with ExitStack() as claim:
        place = f"cuda:{_claim(visible_gpus(), runs_per_gpu, claim)}"
        if usable(device, place):
            deterministic()
            torch.cuda.set_device(place)
        else:
            claim.close()
            place = "cpu"
        yield place


def usable(device: str, place: str) -> bool:
    """Whether torch can compute on the GPU ``place``. Where it can't, ``auto`` says why, since what
    follows is on the CPU, and ``cuda`` is a UserError.

    There may be no driver or an old one, torch may be built for CPUs or for newer GPUs only.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of some of this before it fails
        try:
            torch.ones(1, device=place).add_(1).item()
        except (AssertionError, RuntimeError) as error:  # a build for CPUs asserts
            reason = f"device: torch can't use the GPU: {in_a_line(error)}"
        else:
            return True
    if device == "cuda":
        raise UserError(f"{reason}; use auto or cpu.")
    print(f"{reason}; using the CPU", file=sys.stderr)
    return False


def deterministic() -> None:
    """Have torch compute the same bytes on a GPU from run to run, and float32 in float32.

    By default convolutions take 10 bits of a float32's 23 (TF32) where the GPU can do that.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.fp32_precision = "ieee"  # of convolutions and products alike


def _claim(gpus: list[str], runs: int, claim: ExitStack) -> int:
    """The position of the GPU with the fewest runs, ours until ``claim`` closes; waits while all
    have as many as ``runs``.
    """
    if len(gpus) == 1 and "SLURM_JOB_ID" in os.environ:
        return 0
    locks = f"{tempfile.gettempdir()}/ngo-gpu-{os.getuid()}"
    waiting = False
    while True:
        # One process at a time looks, since it holds all that is free for a moment.
        with held(f"{locks}.lock", lambda: None):
            free = [_free_slots(f"{locks}-{name.replace('/', '-')}", runs) for name in gpus]
            position = max(range(len(gpus)), key=lambda k: len(free[k]))
            slot = free[position].pop(0) if free[position] else None
            for file in chain(*free):
                file.close()
        if slot is not None:
            claim.enter_context(slot)
            return position
        if not waiting:
            print("all GPUs are in use by other runs: waiting for one", file=sys.stderr)
            waiting = True
        time.sleep(1)


def _free_slots(locks: str, runs: int) -> list[IO[str]]:
    """The locks of one GPU, of ``runs``, that no other process held; now this one does."""
    found = (try_hold(f"{locks}-{slot}.lock") for slot in range(runs))
    return [file for file in found if file is not None]
