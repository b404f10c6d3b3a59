"""The files of a run in its folder, and whether they are those of the same run, made as now.

Two runs are the same if they have equal specifications, data, files that are named in them,
partitions, snapshots, and ways of distribution. The versions of code, libraries and devices
(``MADE_BY``) may differ.

A finished run has its metrics and a record. Light: no torch is imported before one trains.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

import ngo
from ngo.common import plugins, versions
from ngo.common.files import write_text
from ngo.common.lazy import torch
from ngo.data.description import identity
from ngo.data.partition import parts_digest
from ngo.native.build import build
from ngo.training.evaluation import Evaluation, as_columns
from ngo.training.results_version import DIGEST, inputs_read, results_version
from ngo.training.spec import NEUTRAL, RunSpec
from verdicts.files import content_of
from verdicts.registry import UserError, shown

if TYPE_CHECKING:
    from ngo.training.learning_problem import Problem

METRICS, RECORD, MODELS, LOCK = "metrics.parquet", "run.json", "models.pt", ".lock"
CHECKPOINT = "checkpoint.pt"  # of a run that is not finished

#: The key of a record with the sum of the metrics: a damaged file is found when it is read.
SUM = "metrics_sha256"

# The versions of code, libraries and devices, and of a checkpoint's layout, which do not identify a
# run.
MADE_BY = ("layout", "version", "code", "torch", "device", "instructions", "kernels")

# Fields that permit what only runs that need it do: a run that trains with either value has the
# same results with both.
ALLOWS = ("short_share",)

MOST_BYTES = 2**26  # of a record that anybody may have put there

INSTEAD = "choose another folder, or train over it with --overwrite."

WHOLE = (
    "a run can't be made longer or shorter: its learning rate's schedule and its last evaluation "
    "follow from its epochs, so the new length is trained from the start"
)

About = Mapping[str, Any]


def difference(theirs: About, ours: About) -> str | None:
    """The first value by which another run differs from ours; None if it is the same run."""
    keys = [key for key in ours if key not in (*MADE_BY, *ALLOWS, "run", "epochs")]
    other = _difference(theirs, ours, [*keys, "epochs"])
    return f"{other} ({WHOLE})" if other and other.startswith("epochs ") else other


def remade(theirs: About, ours: About) -> str | None:
    """The first of ``MADE_BY`` by which another result of the same run differs; None if none."""
    return _difference(theirs, ours, MADE_BY)


def _difference(theirs: About, ours: About, keys: list[str] | tuple[str, ...]) -> str | None:
    for key in keys:
        added = key.endswith(DIGEST) or ours.get(key) in (None, NEUTRAL.get(key))
        if key not in theirs and added:
            continue  # a field or a digest that was added after the other run
        if theirs.get(key) != ours.get(key):
            return f"{key} {shown(theirs.get(key))} and not {shown(ours.get(key))}"
    return None


def is_current(
    folder: Path, spec: RunSpec, version: str, made_with: About, models: Collection[int | str] = ()
) -> bool:
    """Whether ``folder`` holds the finished run ``spec``, whole, made as it would be made now.

    That is: with this ``version`` (``results_version``), on the same described data, and
    ``made_with`` these versions of the libraries; and with the ``models`` of these steps.
    """
    record = record_of(folder)
    made = versions.recorded(record)
    try:
        about = {**record["about"], **record["spec"]}
        kept = set(about["snapshots"])
    except (LookupError, TypeError, AttributeError):
        return False  # no record of a run
    return (
        about.get("code") == version
        and is_run(about, spec)
        and all(made.get(name) == value for name, value in made_with.items())
        and set(map(str, models)) <= kept
        and (not models or is_zipfile(folder / MODELS))  # its end is there
        and record.get(SUM) == sum_of(folder / METRICS)
    )


def is_run(about: About, spec: RunSpec) -> bool:
    """Whether it is the run ``spec``, made by one process, on the same described data."""
    ours = {**spec.values(), "distributed": None, "data": identity(spec.dataset)}
    return difference(about, ours) is None


def sum_of(path: Path) -> str | None:
    """The SHA-256 of a file's content; None without a file. A UserError if it can't be read."""
    return hashlib.sha256(content_of(path, "run")).hexdigest() if path.exists() else None


def record_of(folder: Path) -> dict[str, Any]:
    """The record of the finished run in ``folder``; empty if it has none, or a damaged one.

    Raises a UserError if it can't be read.
    """
    path = folder / RECORD
    try:
        record = json.loads(content_of(path, "run", MOST_BYTES)) if path.exists() else {}
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def clear(out: Path) -> None:
    """Remove the results of a finished run, first its record, which marks them as complete."""
    for name in (RECORD, METRICS, MODELS):
        (out / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class Origin:
    """A run, the versions of code, libraries and device that make it, and its start."""

    spec: RunSpec
    #: The values that must be equal for a checkpoint to be resumed to equal bytes (``run_folder``).
    about: dict[str, Any]
    started: datetime = field(default_factory=lambda: datetime.now(UTC))


def make_origin(
    spec: RunSpec, problem: Problem, device: str, snapshots: Collection[int | str], distributed: Any
) -> Origin:
    """The origin of a run that starts now.

    ``distributed`` describes how the run is distributed; None for a run in one process.
    """
    about = {
        **identity_of(spec, problem, device, snapshots=sorted({str(step) for step in snapshots})),
        "train_samples": len(problem.data.train_inputs),
        "test_samples": len(problem.data.test_inputs),
        "distributed": distributed,
    }
    if (data := identity(spec.dataset)) is not None:
        about["data"] = data
    return Origin(spec, about)


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
    out: Path, origin: Origin, rows: list[Evaluation], size: About, how: dict[str, object]
) -> None:
    """Write a run's metrics and record into the folder ``out``.

    ``size`` has the numbers of ``classes_covered`` and ``parameters``; ``how`` is in the record.
    """
    from ngo.common.parquet_columns import write_columns

    spec, values, about = origin.spec, origin.spec.values(), origin.about
    size = {"train_samples": about["train_samples"], **size}
    metrics = as_columns(rows)
    seconds = metrics.pop("seconds")
    write_columns(out / METRICS, {"run": spec.id, **values, **size}, [metrics])
    made_with = {"ngo": ngo.__version__, "python": platform.python_version()}
    made_with |= {**versions.installed(), "torch": torch.__version__, "kernels": about["kernels"]}
    record = {
        "id": spec.id,
        "spec": values,
        "command": ["ngo", "train", *spec.flags()],
        "seed": spec.seed,
        **size,
        # JSON has no NaN and no infinity.
        "final": {k: c[-1] if math.isfinite(c[-1]) else None for k, c in metrics.items()},
        "about": {key: value for key, value in about.items() if key not in values},
        "device": about["device"],
        "processor": processor(),
        **how,
        "versions": made_with,
        "source": source_revision(),
        "plugins": [{"file": p.path.name, "sha256": p.sha256} for p in plugins.loaded()],
        # Since the start, resumed runs' times added up; the wall time is of the last start.
        "evaluation_seconds": seconds,
        "started": origin.started.isoformat(timespec="seconds"),
        "wall_seconds": (datetime.now(UTC) - origin.started).total_seconds(),
        SUM: sum_of(out / METRICS),
    }
    write_text(out / RECORD, json.dumps(record, indent=2) + "\n")


def finished(out: Path, origin: Origin, tell: Callable[[str], None]) -> Evaluation | None:
    """The last evaluation of the run if the folder ``out`` holds its results; ``tell`` gets a line.

    None if the run may train there: also beside a checkpoint, and where files are missing. Raises a
    UserError if ``out`` holds another finished run, an unreadable record, or files of these names
    that are not of a run: a run without a record has a checkpoint.
    """
    from ngo.common.parquet_columns import read_columns

    path, about = out / RECORD, origin.about
    stopped = (out / CHECKPOINT).exists()
    if not path.exists():
        for name in () if stopped else (METRICS, MODELS):
            if (out / name).exists():
                raise UserError(f"out: {str(out / name)!r} is there without a {RECORD}; {INSTEAD}")
        return None
    try:
        record = record_of(out)
        name, theirs = record["id"], {**record["about"], **record["spec"]}
        if set(about["snapshots"]) <= set(theirs["snapshots"]):
            theirs["snapshots"] = about["snapshots"]  # it kept these models, and maybe others
        seconds = float(record["evaluation_seconds"][-1])
    except (UserError, ValueError, LookupError, TypeError, AttributeError):
        fault = f"{str(path)!r} is damaged, or the record of another version"
        raise UserError(f"out: {fault}; {INSTEAD}") from None
    if other := difference(theirs, about):
        raise UserError(f"out: {str(out)!r} holds the finished run {name}, with {other}; {INSTEAD}")
    files = (METRICS, *[MODELS] * bool(about["snapshots"]))
    if stopped or not all((out / name).exists() for name in files):
        return None
    made = f", made with {by}" if (by := remade(theirs, about)) else ""
    tell(f"already finished in {str(out)!r}{made}; --overwrite trains it again")
    table, _ = read_columns(out / METRICS, "out")
    values = {name: column[-1].item() for name, column in table.items()}
    return Evaluation(**values, seconds=seconds)


def kind(device: str) -> dict[str, str | None]:
    """The libraries and the device that decide the bits of a result, with the code."""
    cuda, machine = torch.device(device).type == "cuda", f"{platform.machine()}, {sys.platform}"
    return {
        "torch": str(torch.__version__),  # a string's subclass
        "device": "cuda" if cuda else f"{device} ({machine})",  # of any card: a run may go on there
        "instructions": None if cuda else torch.backends.cpu.get_cpu_capability(),
        "kernels": None if cuda else build(),
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
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
