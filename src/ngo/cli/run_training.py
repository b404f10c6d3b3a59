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

from ngo.cli import log
from ngo.cli.log import LOG
from ngo.common import plugins
from ngo.common.registries import DATASETS
from ngo.data import loading
from ngo.data.dataset import Dataset
from ngo.distributed import process_run
from ngo.native.threads import quick_switching
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
    how |= {"report": LOG.info, "tell": LOG.info}
    with _progress(spec) as progress, named_in_errors(spec):
        last = training_run.run(spec, out, root, progress=progress, **how)
    if last is not None:
        print_outcome(spec, last, out)


class JobRuns:
    """Starts the runs of a job. Runs on one data set share it."""

    def __init__(self, partitions: Path, root: Path, device: str, **how: object) -> None:
        """``partitions`` is their file; ``how`` are other arguments of ``training.run.turns``."""
        self._partitions, self._root, self._device, self._how = partitions, root, device, how
        self._data: dict[Hashable, Dataset] = {}

    def __call__(self, spec: RunSpec, out: Path, **how: object) -> training_run.Turns:
        """A run, whose turns train it in the folder ``out`` and print the outcome."""

        def report(row: Evaluation) -> None:
            LOG.info("%s: %s", spec.id, row)

        with named_in_errors(spec):
            parts = partition_file.read(self._partitions, spec)
            common = {"parts": parts, "data": self._loaded(spec), "device": self._device}
            how = {**common, "overwrite": True, "report": report, **self._how, **how}
            last = yield from training_run.turns(spec, out, self._root, **how)
        if last is not None:
            print_outcome(spec, last, out)
        return last

    def check(self, specs: Iterable[RunSpec]) -> None:
        """Raise a UserError if the shares of one of these runs do not fill its batches."""
        for spec in specs:
            check_share(spec, *smallest_share(partition_file.read(self._partitions, spec)))

    def _loaded(self, spec: RunSpec) -> Dataset:
        """The run's data set; the one before is forgotten."""
        key = spec.dataset, *(getattr(spec, name) for name in DATASETS[spec.dataset].fields)
        if key not in self._data:
            self._data.clear()
            self._data[key] = loading.load(spec.dataset, self._root, self._device, spec)
        return self._data[key]


def print_outcome(spec: RunSpec, last: Evaluation, out: Path) -> None:
    """Print the result of a run's last evaluation."""
    accuracy, loss = last.consensus_accuracy, last.consensus_loss
    score = f"loss {loss:.4g}" if math.isnan(accuracy) else f"{accuracy:.2%}"
    outcome = "diverged" if last.diverged else f"consensus model {score}"
    click.echo(f"{spec.id}: {outcome} after {last.epoch:g} epochs, {last.seconds:.1f} s → {out}")


@contextmanager
def _progress(spec: RunSpec) -> Iterator[Callable[[int], None]]:
    """A function that takes the number of steps done, and draws a bar on a terminal."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    bar = tqdm(total=spec.samples, unit=" samples", unit_scale=True, leave=False)
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
    log.configure()
    quick_switching()
    plugins.load(files, key="plugin")
    with lenient_streams("ngo"):
        work()


def _take_part(spec: RunSpec, out: Path, root: Path, how: dict[str, object]) -> None:
    with named_in_errors(spec):
        last = process_run.run(spec, out, root, report=LOG.info, **how)
    if last is not None:
        print_outcome(spec, last, out)
