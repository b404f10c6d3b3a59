"""Train a run in this process, with a progress bar or log lines."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ngo.cli.log import LOG
from ngo.training.checkpoint import Stopped
from ngo.training.evaluation import Evaluation
from ngo.training.plugin_errors import named_in_errors
from ngo.training.run import run
from ngo.training.spec import RunSpec


def train_here(spec: RunSpec, out: Path, root: Path, **how: object) -> None:
    """Train ``spec`` with the arguments ``how`` of ``training.run``, and print the outcome.

    After SIGTERM or SIGINT the process ends with the exit code of that signal.
    """
    try:
        with _progress(spec) as progress, named_in_errors(spec):
            last = run(spec, out, root, report=LOG.info, tell=LOG.info, progress=progress, **how)
    except Stopped as stopped:
        LOG.error("ngo: %s", stopped)
        sys.exit(128 + stopped.number)
    if last is not None:
        print_outcome(spec, last, out)


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
    from tqdm import tqdm
    from tqdm.contrib.logging import logging_redirect_tqdm

    per_step = spec.per_step(spec.owned)
    bar = tqdm(total=spec.samples, unit=" samples", unit_scale=True, leave=False)
    with bar, logging_redirect_tqdm([LOG]):
        yield lambda step: bar.update(step * per_step - bar.n)
