"""The results of a run: ``metrics.parquet`` and ``run.json``."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import torch

import ngo
from ngo.common import plugins, versions
from ngo.common.files import read_limited, write_text
from ngo.common.parquet_columns import read_columns, write_columns
from ngo.data.description import identity
from ngo.data.partition import parts_digest
from ngo.native.build import build
from ngo.training import run_folder
from ngo.training.evaluation import Evaluation, as_columns
from ngo.training.learning_problem import Problem
from ngo.training.results_version import inputs_read, results_version
from ngo.training.run_folder import INSTEAD, METRICS, MODELS, RECORD
from ngo.training.spec import RunSpec
from verdicts.registry import UserError


@dataclass(frozen=True)
class Origin:
    """A run, the versions of code, libraries and device that make it, and its start."""

    spec: RunSpec
    #: The number of the data set's training samples, and of the classes that workers own.
    samples: dict[str, int | None]
    #: The values that must be equal for a checkpoint to be resumed to equal bytes (``run_folder``).
    about: dict[str, Any]
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.perf_counter)


def make_origin(
    spec: RunSpec,
    problem: Problem,
    device: str,
    snapshots: Collection[int | str] = (),
    distributed: dict[str, object] | None = None,
) -> Origin:
    """The origin of a run that starts now.

    ``distributed`` describes how the run is distributed; None for a run in one process.
    """
    train_samples = len(problem.data.train_inputs)
    about = {
        **identity_of(spec, problem, device, snapshots=sorted({str(step) for step in snapshots})),
        "train_samples": train_samples,
        "test_samples": len(problem.data.test_inputs),
        "distributed": distributed,
    }
    if (data := identity(spec.dataset)) is not None:
        about["data"] = data
    samples = {"train_samples": train_samples, "classes_covered": problem.classes_covered}
    return Origin(spec, samples, about)


def identity_of(spec: RunSpec, problem: Problem, device: str, **more: object) -> dict[str, object]:
    """Which run it is, and what makes it: its values, its data, the code and the device."""
    return {
        "run": spec.id,
        "version": ngo.__version__,
        "code": results_version(spec),
        **kind(device),
        **more,
        **spec.values(),
        "parts": parts_digest(problem.parts),
        **inputs_read(spec, problem.data),
    }


def write_results(
    out: Path, origin: Origin, rows: list[Evaluation], parameters: int, how: dict[str, object]
) -> None:
    """Write a run's metrics and record, with what is in ``how``, into the folder ``out``."""
    spec, values = origin.spec, origin.spec.values()
    size = {**origin.samples, "parameters": parameters}
    metrics = as_columns(rows)
    seconds = metrics.pop("seconds")
    write_columns(out / METRICS, {"run": spec.id, **values, **size}, [metrics])
    made_with = {"ngo": ngo.__version__, "python": platform.python_version()}
    made_with |= {**versions.installed(), "torch": torch.__version__}
    made_with["kernels"] = origin.about["kernels"]
    record = {
        "id": spec.id,
        "spec": values,
        "command": ["ngo", "train", *spec.flags()],
        "seed": spec.seed,
        **size,
        # JSON has no NaN and no infinity.
        "final": {k: c[-1] if math.isfinite(c[-1]) else None for k, c in metrics.items()},
        "about": {key: value for key, value in origin.about.items() if key not in values},
        "device": origin.about["device"],
        "processor": processor(),
        **how,
        "versions": made_with,
        "source": source_revision(),
        "plugins": [{"file": p.path.name, "sha256": p.sha256} for p in plugins.loaded()],
        # Since the start, resumed runs' times added up; the wall time is of the last start.
        "evaluation_seconds": seconds,
        "started": origin.started.isoformat(timespec="seconds"),
        "wall_seconds": time.perf_counter() - origin.clock,
        run_folder.SUM: run_folder.sum_of(out / METRICS),
    }
    write_text(out / RECORD, json.dumps(record, indent=2) + "\n")


def finished(out: Path, origin: Origin, tell: Callable[[str], None]) -> Evaluation | None:
    """The last evaluation of the run if the folder ``out`` holds its results; ``tell`` gets a line.

    None if the run may train there: also beside a checkpoint, and where files are missing. Raises a
    UserError if ``out`` holds another finished run, an unreadable record, or files of these names
    that are not of a run: a run without a record has a checkpoint.
    """
    path, about = out / RECORD, origin.about
    stopped = (out / run_folder.CHECKPOINT).exists()
    if not path.exists():
        for name in () if stopped else (METRICS, MODELS):
            if (out / name).exists():
                raise UserError(f"out: {str(out / name)!r} is there without a {RECORD}; {INSTEAD}")
        return None
    try:
        record = json.loads(read_limited(path, "out", run_folder.MOST_BYTES))
        name, theirs = record["id"], {**record["about"], **record["spec"]}
        if not name.isprintable():
            raise ValueError("no name of a run")
        if set(about["snapshots"]) <= set(theirs["snapshots"]):
            theirs["snapshots"] = about["snapshots"]  # it kept these models, and maybe others
        seconds = float(record["evaluation_seconds"][-1])
    except (UserError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        fault = f"{str(path)!r} is damaged, or the record of another version"
        raise UserError(f"out: {fault}; {INSTEAD}") from None
    if other := run_folder.difference(theirs, about):
        raise UserError(f"out: {str(out)!r} holds the finished run {name}, with {other}; {INSTEAD}")
    files = (METRICS, *[MODELS] * bool(about["snapshots"]))
    if stopped or not all((out / name).exists() for name in files):
        return None
    made = f", made with {by}" if (by := run_folder.remade(theirs, about)) else ""
    tell(f"already finished in {str(out)!r}{made}; --overwrite trains it again")
    table, _ = read_columns(out / METRICS, "out")
    values = {name: column[-1].item() for name, column in table.items()}
    return Evaluation(**values, seconds=seconds)


def kind(device: str) -> dict[str, str | None]:
    """The libraries and the device that decide the bits of a result, with the code."""
    cuda, machine = torch.device(device).type == "cuda", f"{platform.machine()}, {sys.platform}"
    return {
        "torch": str(torch.__version__),  # a string's subclass
        "device": torch.cuda.get_device_name(device) if cuda else f"{device} ({machine})",
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "kernels": build() if torch.device(device).type == "cpu" else None,
    }


@cache
def source_revision() -> str | None:
    """The commit of the checkout that holds the package, with ``-dirty`` if files have changed
    since; None outside of a checkout.
    """
    options = ["--always", "--dirty", "--abbrev=40", "--exclude=*"]
    command = ["git", "--no-optional-locks", "describe", *options]  # a kill leaves no lock
    try:
        answer = subprocess.check_output(command, cwd=Path(__file__).parent, stderr=DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.decode().strip()


def processor() -> str:
    """The processor's model; its architecture where the system names no model."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
