"""Train a run: in this process, or in several, started here or by torchrun."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

import click
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from ngo.cli import LOG, configure_messages
from ngo.common import plugins
from ngo.common.registries import DATASETS
from ngo.data import loading
from ngo.data.dataset import Dataset
from ngo.distributed import process_run
from ngo.native.threads import quick_switching
from ngo.pipeline.job_training import train_job
from ngo.training import partition_file
from ngo.training import run as training_run
from ngo.training.evaluation import Evaluation
from ngo.training.run import named_in_errors
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import check_share, smallest_share
from verdicts.cli import lenient_streams
from verdicts.registry import UserError


def train_here(spec: RunSpec, out: Path, root: Path, **how: object) -> None:
    """Train ``spec`` with the arguments ``how`` of ``training.run``, and print the outcome."""
    with _progress(spec) as progress, named_in_errors(spec):
        last = training_run.run(spec, out, root, progress=progress, report=LOG.info, **how)
    print_outcome(spec, last, out)


# The runs of a job that train in lockstep on a GPU, at most; on a CPU, each by itself is as fast.
TOGETHER = 50


def train_in_job(
    job: Path, key: str, partitions: Path, root: Path, device: str, **how: object
) -> Path:
    """Train what is missing of the file ``job``, and print each outcome; the table of all runs.

    ``partitions`` is the file of theirs; ``how`` are other arguments of ``training.run.turns``.
    Runs on one data set share it.
    """
    loaded: dict[Hashable, Dataset] = {}

    def data_of(spec: RunSpec) -> Dataset:
        key = spec.dataset, *(getattr(spec, name) for name in DATASETS[spec.dataset].fields)
        if key not in loaded:
            loaded.clear()  # of the data set before
            loaded[key] = loading.load(spec.dataset, root, device, spec)
        return loaded[key]

    def start(spec: RunSpec, out: Path, **more: object) -> training_run.Turns:
        with named_in_errors(spec):
            parts = partition_file.read(partitions, spec)
            common = {"parts": parts, "data": data_of(spec), "device": device, "overwrite": True}
            common["report"] = partial(LOG.info, "%s: %s", spec.id)
            last = yield from training_run.turns(spec, out, root, **common, **how, **more)
        print_outcome(spec, last, out)
        return last

    def check(specs: Iterable[RunSpec]) -> None:
        for spec in specs:
            check_share(spec, *smallest_share(partition_file.read(partitions, spec)))

    return train_job(job, key, start, 1 if device == "cpu" else TOGETHER, check)


def print_outcome(spec: RunSpec, last: Evaluation | None, out: Path) -> None:
    """Print the result of a run's last evaluation; nothing if there is none."""
    if last is None:
        return
    accuracy, loss = last.consensus_accuracy, last.consensus_loss
    score = f"loss {loss:.4g}" if math.isnan(accuracy) else f"{accuracy:.2%}"
    outcome = "diverged" if last.diverged else f"consensus model {score}"
    click.echo(f"{spec.id}: {outcome} after {last.epoch:g} epochs, {last.seconds:.1f} s → {out}")


@contextmanager
def _progress(spec: RunSpec) -> Iterator[Callable[[int], None]]:
    """A function that takes the number of steps done, and draws a bar on a terminal."""
    bar = tqdm(total=spec.samples, unit=" samples", unit_scale=True, leave=False, disable=None)
    with bar, logging_redirect_tqdm([LOG]):
        yield lambda step: bar.update(step * spec.per_step - bar.n)


def train_distributed(
    spec: RunSpec, out: Path, root: Path, *, processes: int | None, **how: object
) -> None:
    """Train ``spec`` in new ``processes``, or take part as a process that torchrun started."""
    work = partial(_take_part, spec, out, root, how)
    if processes is None:
        _join(work)
    process_run.check(spec, out, processes)
    LOG.info(spec.id)
    files = [plugin.path for plugin in plugins.loaded()]
    process_run.launch(partial(_child, files, work), processes)


def _join(work: Callable[[], None]) -> NoReturn:
    """Take part as a process that torchrun or the user has started."""
    code = 0
    try:
        work()
    except UserError as error:
        LOG.error("ngo: %s", error)
        code = process_run.MISTAKE_EXIT_CODE
    sys.stdout.flush()
    os._exit(code)  # a thread that waits for the store could abort a normal exit


def _child(files: Sequence[Path], work: Callable[[], None]) -> None:
    """Take part, after setting up this new process like its parent."""
    configure_messages()
    quick_switching()
    plugins.load(files, key="plugin")
    with lenient_streams("ngo"):
        work()


def _take_part(spec: RunSpec, out: Path, root: Path, how: dict[str, object]) -> None:
    with named_in_errors(spec):
        last = process_run.run(spec, out, root, report=LOG.info, **how)
    print_outcome(spec, last, out)
