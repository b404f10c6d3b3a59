"""One run in a folder: resumed, trained, its results written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from ngo.common.files import remove_partial
from ngo.common.locks import file_lock
from ngo.common.paths import writable_folder
from ngo.common.registry import UserError
from ngo.data import loading
from ngo.data.partition import Parts
from ngo.native.pool import one_intra_op_thread
from ngo.training import earlier
from ngo.training.checkpoint import NAME as CHECKPOINT
from ngo.training.checkpoint import Checkpoints
from ngo.training.evaluation import Evaluation
from ngo.training.loop import Progress, Report, Training
from ngo.training.own import check_problem
from ngo.training.partition_file import draw, parts_by_owner
from ngo.training.problem import make_problem
from ngo.training.record import last_evaluation, make_origin, write_results
from ngo.training.resolve import check_filled, check_snapshots
from ngo.training.snapshots import UNREADABLE, save_snapshots
from ngo.training.spec import CHECKPOINT_SECONDS, RunSpec

log = logging.getLogger("ngo")

T = TypeVar("T", bound=Training)

# What a run writes into its folder.
OUTPUTS = (earlier.MODELS, earlier.METRICS, earlier.RECORD, CHECKPOINT)


def run(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    parts: Parts | None = None,
    device: str = "cpu",
    snapshots: Collection[int | str] = (),
    threads: int | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    overwrite: bool = False,
    unless: Callable[[], bool] = lambda: False,
    on_wait: Callable[[], None] | None = None,
    report: Report = lambda row: None,
    progress: Progress = lambda step: None,
    tell: Callable[[str], None] = log.info,
) -> Evaluation | None:
    """Train ``spec`` and write ``metrics.parquet`` and ``run.json`` into the folder ``out``, and
    ``models.pt`` (see ``snapshots``) if there are ``snapshots``; the last evaluation.

    Without ``parts`` the partition is drawn: the same that a partition file holds. Until all
    results are written, ``out`` holds a checkpoint, from which the same run resumes; ``tell`` is
    called with a line about that. SIGTERM and SIGINT raise Stopped after the current step.

    If ``out`` holds the finished run, nothing is trained. If it holds another run, finished or not,
    a UserError is raised. With ``overwrite`` the run is trained in either case; a checkpoint of the
    same run is still resumed.

    While another process trains in ``out``, this one calls ``on_wait`` once and waits; then it
    trains nothing if ``unless()``, and returns None.
    """
    data = loading.load(spec.dataset, root, device, spec)
    parts = parts or parts_by_owner(spec, root) or draw(spec, data.labels)
    check_filled(spec, parts)
    problem = make_problem(spec, data, parts)
    check_problem(spec, problem)
    check_snapshots(spec, snapshots, problem.last_step)
    origin = make_origin(spec, problem, device, snapshots)
    with (
        file_lock(
            writable_folder(out) / earlier.LOCK,
            on_wait or (lambda: tell(f"waiting for another run in {out}")),
        ),
        Checkpoints(
            out / CHECKPOINT, origin.about, checkpoint_seconds, tell, overwrite=overwrite
        ) as checkpoints,
        one_intra_op_thread(),
    ):
        if unless():
            checkpoints.remove()
            return None
        found = None if overwrite else earlier.finished(out, origin.about)
        if found and not checkpoints.path.exists():
            seconds, line = found
            tell(line)
            return last_evaluation(out, seconds)
        for note in origin.notes:
            tell(note)
        for name in OUTPUTS:
            remove_partial(out / name)
        start = partial(Training, spec, problem, snapshots=snapshots, threads=threads)
        training, resumes = at_checkpoint(start, checkpoints)
        if resumes:
            tell(f"resuming at step {training.step} of {training.steps}")
            progress(training.step)
        training.proceed(checkpoints=checkpoints, report=report, progress=progress)
        earlier.clear(out)
        if snapshots:
            save_snapshots(out / earlier.MODELS, spec, training.kept)
        how = {
            "snapshots": sorted(training.kept),
            "workers_evaluated": len(problem.evaluated),
            "backend": training.population.backend,
            "resumed_at_steps": training.resumed,
            "seconds_evaluating": training.seconds_evaluating,
        }
        write_results(out, origin, training.rows, training.population.d, how)
        checkpoints.remove()
    return training.rows[-1]


def at_checkpoint(start: Callable[..., T], checkpoints: Checkpoints) -> tuple[T, bool]:
    """The training at its checkpoint, and True; without a usable one, at its start, and False.

    ``start`` makes the training; it takes the backend.
    """
    state = checkpoints.found()
    if state is None:
        return start(), False
    try:
        training = start(backend=state["backend"])
        training.load_state_dict(state)
        return training, True
    except torch.OutOfMemoryError:  # a good checkpoint is not trained over
        raise
    except (*UNREADABLE, UserError):  # one that is not the state's fault is raised again
        checkpoints.refuse("it holds no state of this run")
        return start(), False
