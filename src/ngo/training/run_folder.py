"""The files of a run in its folder, and whether they are those of the same run, made as now.

Two runs are the same if they have equal specifications, data, files that are named in them,
partitions, snapshots, and ways of distribution. The versions of code, libraries and devices
(``MADE_BY``) may differ.

Light: it imports no torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from ngo.common.versions import recorded
from ngo.data.description import identity
from ngo.training.spec import NEUTRAL, RunSpec
from verdicts.files import content_of
from verdicts.registry import shown

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

# How the keys of digests end. Records of before they were kept have none.
DIGEST = "_digest"

INSTEAD = "choose another folder, or train over it with --overwrite."

WHOLE = (
    "a run can't be made longer or shorter: its learning rate's schedule and its last evaluation "
    "follow from its epochs, so the new length is trained from the start"
)

About = Mapping[str, Any]


def difference(theirs: About, ours: About) -> str | None:
    """The first value by which another run differs from ours; None if it is the same run."""
    others = [key for key in ours if key not in (*MADE_BY, *ALLOWS, "run", "epochs")]
    if other := _difference(theirs, ours, others):
        return other
    length = _difference(theirs, ours, ["epochs"])
    return f"{length} ({WHOLE})" if length else None


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
    made = recorded(record)
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
        record = json.loads(content_of(path, "run")) if path.exists() else {}
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def clear(out: Path) -> None:
    """Remove the results of a finished run, first its record, which marks them as complete."""
    for name in (RECORD, METRICS, MODELS):
        (out / name).unlink(missing_ok=True)
