"""Training the runs of a job that are missing, and gathering its table; the trial of plugins.

A job that starts again, for whatever reason, trains no finished run twice. Jobs share runs: each is
trained under the lock of its folder, first those that no other job holds. Runs of equal shapes may
train in lockstep.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ngo.common.files import hashed
from ngo.native.threads import one_intra_op_thread
from ngo.pipeline.paths import RUNS
from ngo.training import run_folder
from ngo.training.checkpoint import Signals
from ngo.training.exchange_trial import STEPS, try_exchanges
from ngo.training.learning_problem import load_problem
from ngo.training.lockstep import Start, shared, together
from ngo.training.run import Turns, named_in_errors, stepper_of
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import resolve
from ngo.training.tidy import aggregate, write_tidy
from verdicts.files import content_of
from verdicts.registry import UserError

LOG = logging.getLogger("ngo")


class Busy(UserError):
    """Another process trains this run now."""


def read_job(path: Path, key: str) -> dict[str, Any]:
    """The content of a job's file; a UserError if it does not have the ``key``."""
    text = content_of(path, "job").decode(errors="replace")
    if hashed(text) != key:
        fault = "was changed after the job was planned; run snakemake again"
        raise UserError(f"job: {str(path)!r} {fault}.")
    return json.loads(text)


def train_job(
    path: Path,
    key: str,
    start: Callable[..., Turns],
    width: int = 1,
    check: Callable[[Iterable[RunSpec]], None] = lambda missing: None,
) -> Path:
    """Train what is missing of the job in the file ``path``, which has this ``key``; its table.

    ``start(spec, folder, snapshots=…, unless=…, on_wait=…, signals=…)`` starts a run (see
    ``training.run.turns``); at most ``width`` train in lockstep. ``check`` may refuse the missing
    runs before the first trains. A run that fails leaves the others alone; a UserError names the
    first at the end. SIGTERM and SIGINT raise Stopped, between two
    steps or two runs.
    """
    content = read_job(path, key)
    runs = {
        RunSpec.of({**combination["values"], "seed": seed}): combination["version"]
        for combination in content["combinations"]
        for seed in combination["seeds"]
    }
    waiting, failed = list(runs), []

    def fail(spec: RunSpec, error: UserError) -> None:
        if isinstance(error, Busy):
            waiting.append(spec)
            return
        LOG.error("ngo: %s: %s", spec.id, error)
        failed.append(f"{spec.id}: {error}")

    with Signals().between_runs() as signals:
        for patient in (False, True):
            groups: dict[Hashable, dict[RunSpec, Start]] = {}
            for spec in waiting:
                made_with, kept = content["made_with"], content["snapshots"].get(spec.id, [])
                folder = RUNS / spec.id
                done = partial(run_folder.is_current, folder, spec, runs[spec], made_with, kept)
                if done():
                    with suppress(OSError):  # left by a process that was killed after its results
                        (folder / run_folder.LOCK).unlink(missing_ok=True)
                    continue
                wait = partial(_wait, spec, patient)
                how = {"snapshots": kept, "unless": done, "on_wait": wait}
                group = groups.setdefault(shared(spec) if width > 1 else None, {})
                group[spec] = partial(start, spec, folder, **how)
            waiting = []
            check(spec for group in groups.values() for spec in group)
            for group in groups.values():
                together(group, 1 if patient else width, fail, signals)
    if failed:
        more = f" ({len(failed)} runs failed)" if failed[1:] else ""
        raise UserError(f"{failed[0]}{more}")
    table = path.with_suffix(".parquet")
    write_tidy(aggregate([RUNS / spec.id / run_folder.METRICS for spec in runs]), table)
    return table


def _wait(spec: RunSpec, patient: bool) -> None:
    if not patient:
        raise Busy("another job trains it")
    LOG.info("%s: another job trains it; waiting", spec.id)


#: The workers that are tried first: a step of few takes less.
FEW = (2, 4)


def try_combinations(combinations: Iterable[RunSpec], root: Path) -> None:
    """Try a run of each combination, on a few of its workers; a one-line UserError for a mistake.

    Where few workers do not suffice, as for the nodes of a graph's file, all are tried.
    """
    for spec in combinations:
        for workers in (*FEW, spec.workers):
            with suppress(*[UserError] * (workers != spec.workers)):
                _try(resolve({}, {**spec.values(), "workers": workers}), root)
                break


@one_intra_op_thread()
def _try(spec: RunSpec, root: Path) -> None:
    with named_in_errors(spec):
        stepper = stepper_of(spec, load_problem(spec, root, "cpu"), [1])
        try_exchanges(spec, stepper)
        for _ in range(min(spec.local_steps or 1, STEPS, stepper.steps)):
            stepper.advance()
