"""What an earlier run left in a folder, and whether another may train there.

Two runs are the same where all that says what they are is the same: the fields of the
specification, who owns which sample, the models to keep, and whether they are distributed. What
they are made by (:data:`MADE_BY`) may differ.

Light: it imports no torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ngo.registry import UserError

METRICS, RECORD, MODELS = "metrics.parquet", "run.json", "models.pt"

# By what a run is made, and not which one it is.
MADE_BY = ("version", "code", "torch", "device", "instructions", "kernels")

INSTEAD = "choose another folder, or train over it with --overwrite."

About = Mapping[str, object]


def difference(its: About, ours: About) -> str | None:
    """The first thing by which another run differs from ours; None if it is the same run."""
    return _difference(its, ours, [key for key in ours if key not in (*MADE_BY, "run")])


def remade(its: About, ours: About) -> str | None:
    """The first thing by which the same run is made otherwise; None if there is none."""
    return _difference(its, ours, MADE_BY)


def _difference(its: About, ours: About, keys: list[str] | tuple[str, ...]) -> str | None:
    for key in keys:
        if its.get(key) != ours.get(key):
            return f"{key} {its.get(key)!r} and not {ours.get(key)!r}"
    return None


def finished(out: Path, about: About) -> tuple[float, str] | None:
    """The seconds that the run that is ``about`` took, if ``out`` holds all its files, and a line
    that says so; None if it may train there.

    Raises a UserError if ``out`` holds another finished run, or a record that can't be read.
    """
    path = out / RECORD
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        name, its = record["id"], {**record["about"], **record["spec"]}
        if set(about["snapshots"]) <= set(its["snapshots"]):
            its["snapshots"] = about["snapshots"]  # it keeps these models, and others
        seconds = float(record["evaluation_seconds"][-1])
    except (OSError, ValueError, LookupError, TypeError):
        raise UserError(
            f"out: {str(path)!r} is damaged, or the record of another version; {INSTEAD}"
        ) from None
    if other := difference(its, about):
        raise UserError(f"out: {str(out)!r} holds the finished run {name}, with {other}; {INSTEAD}")
    if not all((out / name).exists() for name in (METRICS, *[MODELS] * bool(about["snapshots"]))):
        return None
    by = remade(its, about)
    made = f", made with {by}" if by else ""
    return seconds, f"already finished in {str(out)!r}{made}; --overwrite trains it again"


def clear(out: Path) -> None:
    """Remove what a finished run left, its record first: that says that the rest is whole."""
    for name in (RECORD, METRICS, MODELS):
        (out / name).unlink(missing_ok=True)
