"""Chooses the device of a run, and sends tensors to them."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import takewhile
from subprocess import DEVNULL
from typing import Any

from ngo.common.files import try_lock
from ngo.common.lazy import torch
from verdicts.registry import UserError, in_a_line, one_of

LOG = logging.getLogger("ngo")

DEVICES = ("auto", "cpu", "cuda")

# A valid GPU name in CUDA_VISIBLE_DEVICES. CUDA ignores the first invalid name and all names after
# it. Slurm uses the invalid name "NoDevFiles" for jobs without a GPU.
GPU_NAME = re.compile(r"\d+|(GPU|MIG)-.+")


def visible_gpus() -> list[str]:
    """The names of the GPUs available to this process, found without importing torch."""
    assigned = os.environ.get("CUDA_VISIBLE_DEVICES")
    if assigned is not None:
        return list(takewhile(GPU_NAME.fullmatch, map(str.strip, assigned.split(","))))
    try:
        listed = subprocess.check_output(
            ["nvidia-smi", "-L"], text=True, stderr=DEVNULL, timeout=10
        )
    except (OSError, subprocess.SubprocessError) as error:
        if isinstance(error, subprocess.TimeoutExpired):
            LOG.warning("device: nvidia-smi gives no answer in 10 seconds; no GPU is used")
        return []
    return [str(index) for index, line in enumerate(listed.splitlines()) if "GPU" in line]


def check_device(device: str) -> None:
    """Raise a UserError for an unknown device. For ``gpu`` and the like, it suggests ``cuda``."""
    if device.partition(":")[0].lower() in ("gpu", "cuda", "nvidia") and device not in DEVICES:
        allowed = ", ".join(DEVICES)
        raise UserError(f"device: {device!r} is unknown; allowed: {allowed}. Did you mean 'cuda'?")
    one_of("device", device, DEVICES)


def chosen(device: str) -> str:
    """``cuda`` or ``cpu`` for a device or ``auto``; a UserError if there is no such device.

    Whether torch can use a visible GPU is not tested before the GPU is claimed.
    """
    check_device(device)
    gpus = [] if device == "cpu" else visible_gpus()
    if device == "cuda" and not gpus:
        raise UserError("device: 'cuda' needs a GPU, and none is visible; use auto or cpu.")
    return "cuda" if gpus else "cpu"


@contextmanager
def claimed(device: str) -> Iterator[str]:
    """A torch device for this process: ``cpu``, or a GPU, if possible one that no other claims.

    The GPU becomes torch's current device. A claim is a file lock, which the system releases at the
    end of the process. It holds nobody back: whoever starts jobs decides how many run on GPUs at a
    time. If torch can't use the GPU, ``auto`` logs the reason and uses the CPU, and ``cuda`` raises
    a UserError.
    """
    if chosen(device) == "cpu":
        yield "cpu"
        return
    with ExitStack() as claim:
        place = f"cuda:{_claim(visible_gpus(), claim)}"
        if usable(device, place):
            deterministic()
            torch.cuda.set_device(place)
        else:
            claim.close()
            place = "cpu"
        yield place


def usable(device: str, place: str) -> bool:
    """Whether torch can use the GPU ``place``, for a ``device`` of ``auto`` or ``cuda``.

    If it can't, ``auto`` logs the reason and ``cuda`` raises a UserError. Typical reasons are a
    missing or old driver, and a build of torch for CPUs or for newer GPUs only.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns before some of the errors
        try:
            torch.ones(1, device=place).add_(1).item()
        except (AssertionError, RuntimeError) as error:  # AssertionError: a build for CPUs
            reason = f"device: torch can't use the GPU: {in_a_line(error)}"
        else:
            return True
    if device == "cuda":
        raise UserError(f"{reason}; use auto or cpu.")
    LOG.warning("%s; using the CPU", reason)
    return False


def torch_device(device: object) -> str:
    """``cpu`` or ``cuda``, for a device or ``auto``; a UserError if torch has no such device."""
    wanted = str(device)
    name = chosen(wanted)
    return name if name == "cpu" or usable(wanted, name) else "cpu"


def deterministic() -> None:
    """Make torch's results on a GPU reproducible, and its float32 arithmetic full precision.

    By default, GPUs that support TF32 round the inputs of convolutions to 10 of the 23 bits.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    set_float32("ieee")


def float32_parts() -> tuple[Any, ...]:
    """The parts of torch with a precision of float32 on a GPU: ``fp32_precision``.

    That of ``torch.backends``, for all of them, does not reach convolutions in torch 2.11.
    """
    return torch.backends.cudnn.conv, torch.backends.cudnn.rnn, torch.backends.cuda.matmul


def set_float32(*precisions: str) -> None:
    """Set one precision of all ``float32_parts``, or one for each: ``ieee``, ``tf32``, ``none``.

    Torch's older flags are set alike: otherwise it is an error to read them.
    """
    parts = float32_parts()
    wanted = precisions * (len(parts) // len(precisions))
    if [part.fp32_precision for part in parts] == list(wanted):
        return
    torch.backends.cudnn.allow_tf32 = wanted[0] == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = wanted[-1] == "tf32"
    for part, precision in zip(parts, wanted, strict=True):
        part.fp32_precision = precision


def _claim(gpus: list[str], claim: ExitStack) -> int:
    """The index of a GPU, claimed until ``claim`` closes; where all are claimed, that of any."""
    for k, name in enumerate(gpus):
        path = f"{tempfile.gettempdir()}/ngo-gpu-{os.getuid()}-{name.replace('/', '-')}.lock"
        if lock := try_lock(path):
            claim.callback(lock.release)
            return k
    return os.getpid() % len(gpus)


def sent(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    """``x`` on ``device``: itself if it is there already, otherwise an asynchronous copy."""
    if x.is_cpu and device.type == "cuda":
        x = x.pin_memory()
    return x.to(device, non_blocking=True)
