"""Training the runs of a job that are missing, and gathering its table.

A job that starts again, for whatever reason, trains no finished run twice. Jobs share runs: each is
trained under the lock of its folder, first those that no other job holds.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ngo.common.files import hashed
from ngo.common.registry import UserError
from ngo.pipeline.paths import RUNS
from ngo.training import run_folder
from ngo.training.spec import RunSpec
from ngo.training.tidy import aggregate, write_tidy

LOG = logging.getLogger("ngo")

Train = Callable[..., None]


class Busy(Exception):
    """Another process trains this run now."""


def read_job(path: Path, key: str) -> dict[str, Any]:
    """The content of a job's file; a UserError if it does not have the ``key``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = ""
    if hashed(text) != key:
        raise UserError(
            f"job: {str(path)!r} is absent, or was changed after the job was planned; run "
            "snakemake again."
        )
    return json.loads(text)


def train_job(path: Path, key: str, train: Train) -> Path:
    """Train what is missing of the job in the file ``path``, which has this ``key``; its table.

    ``train(spec, folder, snapshots=…, unless=…, on_wait=…)`` trains one run (see ``training.run``).
    A run that fails leaves the others alone; a UserError names the first at the end.
    """
    content = read_job(path, key)
    runs = {
        RunSpec.of({**combination["values"], "seed": seed}): combination["version"]
        for combination in content["combinations"]
        for seed in combination["seeds"]
    }
    waiting, failed = list(runs), []
    for patient in (False, True):
        held: list[RunSpec] = []
        for spec in waiting:
            kept = content["snapshots"].get(spec.id, [])
            folder = RUNS / spec.id
            done = partial(
                run_folder.is_current, folder, spec, runs[spec], content["made_with"], kept
            )
            if done():
                with suppress(OSError):  # left by a process that was killed after its last result
                    (folder / run_folder.LOCK).unlink(missing_ok=True)
                continue
            wait = partial(_wait, spec, patient)
            try:
                train(spec, folder, snapshots=kept, unless=done, on_wait=wait)
            except Busy:
                held.append(spec)
            except UserError as error:
                LOG.error("ngo: %s: %s", spec.id, error)
                failed.append(f"{spec.id}: {error}")
        waiting = held
    if failed:
        more = f" ({len(failed)} runs failed)" if failed[1:] else ""
        raise UserError(f"{failed[0]}{more}")
    table = path.with_suffix(".parquet")
    files = [RUNS / spec.id / run_folder.METRICS for spec in runs]
    write_tidy(aggregate(files), table)
    return table


def _wait(spec: RunSpec, patient: bool) -> None:
    if not patient:
        raise Busy
    LOG.info("%s: another job trains it; waiting", spec.id)
