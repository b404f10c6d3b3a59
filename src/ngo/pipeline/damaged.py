"""Removing truncated results, so that the pipeline makes them again.

Snakemake takes a file that exists for a complete one. The check reads the end of a file, or parses
a short one: a result that is complete and wrong is found where it is read.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.training import earlier

if TYPE_CHECKING:
    from ngo.pipeline.plan import Plan

MAGIC = b"PAR1"


def is_whole(path: Path) -> bool:
    """Whether a Parquet, JSON or model file is complete; True for other files."""
    if path.suffix == ".parquet":
        return _is_parquet(path)
    if path.suffix == ".json":
        return _is_json(path)
    return path.suffix != ".pt" or zipfile.is_zipfile(path)


def remove_damaged(plan: Plan, folder: Path) -> list[Path]:
    """Remove the plan's truncated results below ``folder``, and return their paths.

    They are the runs' files, the partitions, the manifests of data sets and the tidy tables.
    """
    results = dict.fromkeys(_results(plan, folder))
    found = [path for path in results if path.is_file() and not is_whole(path)]
    for path in found:
        path.unlink(missing_ok=True)
    return found


def _results(plan: Plan, folder: Path) -> Iterator[Path]:
    for run in plan.runs:
        for name in (earlier.METRICS, earlier.RECORD, *[earlier.MODELS] * (run in plan.snapshots)):
            yield folder / "runs" / run / name
    for partition, spec in plan.partition_runs.items():
        yield folder / "partitions" / f"{partition}.parquet"
        yield folder / "data" / f"{spec.dataset}.json"
    for name in plan.made:
        yield folder / plan.tier / "metrics" / f"{name}.parquet"


def _is_parquet(path: Path) -> bool:
    """Whether a file begins and ends as Parquet, and has room for the footer that it announces."""
    with path.open("rb") as file:
        begin, size = file.read(4), file.seek(0, 2)
        if begin != MAGIC or size < 12:
            return False
        file.seek(size - 8)
        footer, end = int.from_bytes(file.read(4), "little"), file.read(4)
    return end == MAGIC and footer <= size - 12


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    return True
