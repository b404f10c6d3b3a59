"""What the parts of a run cost on this machine, by short trials of some kinds of runs.

A trial is the run itself, through the code of ``ngo train``, stopped after a few steps. As many run
at the same time as a pipeline would have jobs, since they share the memory and its bandwidth. With
one thread they are measured in CPU time, which leaves out what other programs take.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.bench.kinds import Kind, first_trials, kind_of, likest, more_trials
from ngo.bench.turns import synchronize
from ngo.common.registry import UserError
from ngo.pipeline.work import models
from ngo.training.spec import RunSpec

if TYPE_CHECKING:
    from ngo.data.dataset import Dataset

LOG = logging.getLogger("ngo")

# The most numbers in the parameters of all workers of a trial. A larger model is tried with fewer
# workers; a sample costs the same.
MOST_NUMBERS = 60_000_000

# Steps of a trial, between its two evaluations, and the test samples of an evaluation.
STEPS = 8
IMAGES = 500


@dataclass(frozen=True)
class Cost:
    """Seconds of the parts of a run."""

    #: Of a training sample.
    sample: float
    #: Of a test sample and model.
    image: float
    #: Of the preparation before the first step, in a process that has imported everything.
    setup: float
    #: Wall time per CPU time: above 1 if other programs take a share of the cores.
    slowdown: float = 1.0
    #: Bytes of memory that the run needs.
    memory: int = 0


@dataclass(frozen=True)
class Costs:
    """The costs of all runs of a config."""

    #: All kinds; one that was not tried has the seconds of the tried one that is most like it.
    kinds: Mapping[Kind, Cost]
    #: The sizes of the training and test set of each data set.
    sizes: Mapping[str, tuple[int, int]]
    #: Seconds of the start of a job.
    start: float
    #: The kinds that were tried.
    tried: tuple[Kind, ...]

    @property
    def slowdown(self) -> float:
        """Wall time per CPU time."""
        return max(1.0, statistics.median(self.kinds[each].slowdown for each in self.tried))

    @property
    def errors(self) -> list[float]:
        """How far a sample of each tried kind is from that of the tried kind most like it.

        As shares of its seconds, sorted; empty if no family has two tried kinds.
        """
        pairs = [
            (kind, likest(kind, [other for other in self.tried if other != kind]))
            for kind in self.tried
        ]
        seconds = [(self.kinds[a].sample, self.kinds[b].sample) for a, b in pairs if b]
        return sorted(abs(other / own - 1) for own, other in seconds)


def run_costs(
    specs: Sequence[RunSpec],
    root: Path,
    *,
    device: str = "cpu",
    threads: int = 1,
    jobs: int = 1,
    warm: bool = False,
    plugins: Sequence[str] = (),
) -> Costs:
    """The costs of runs like ``specs``, with ``threads`` each and ``jobs`` of them at a time.

    ``warm``: jobs ask a prefork server. Raises a UserError if a trial is killed.
    """
    from ngo.data import loading

    data = {name: loading.load(name, root) for name in {spec.dataset for spec in specs}}
    sizes = {name: (len(d.train_inputs), len(d.test_inputs)) for name, d in data.items()}
    cases = {kind_of(spec): spec for spec in specs}
    samples: Counter[Kind] = Counter()
    for spec in specs:
        samples[kind_of(spec)] += spec.samples
    memory = _memory(cases, data, root, threads)
    trial = partial(_trial, root=root, device=device, threads=threads, plugin_files=plugins)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:

        def tried(kinds: Sequence[Kind]) -> dict[Kind, Cost]:
            LOG.info("forecast: %d of %d kinds of runs, %d at a time", len(kinds), len(cases), jobs)
            chosen = [cases[kind] for kind in kinds]
            tests = [sizes[spec.dataset][1] for spec in chosen]
            return dict(zip(kinds, pool.map(trial, chosen, tests), strict=True))

        try:
            found = tried(first_trials(samples))
            seconds = {kind: samples[kind] * _like(kind, found).sample for kind in cases}
            found |= tried(more_trials(seconds, found))
        except BrokenProcessPool:
            raise UserError("time: a trial was killed; is there enough memory?") from None
    kinds = {kind: replace(_like(kind, found), memory=memory[kind]) for kind in cases}
    return Costs(kinds, sizes, _start(warm), tuple(found))


def _like(kind: Kind, found: Mapping[Kind, Cost]) -> Cost:
    nearest = likest(kind, found)
    assert nearest is not None  # each family has a trial
    return found[nearest]


def _memory(
    cases: Mapping[Kind, RunSpec], data: Mapping[str, Dataset], root: Path, threads: int
) -> dict[Kind, int]:
    """The bytes of memory that each kind needs."""
    from ngo.training.partition_file import parts_by_owner
    from ngo.training.problem import make_problem
    from ngo.training.run_memory import run_memory

    families = {kind.family: spec for kind, spec in cases.items()}
    problems = {
        family: make_problem(spec, data[spec.dataset], parts_by_owner(spec, root))
        for family, spec in families.items()
    }
    return {
        kind: run_memory(spec, problems[kind.family], threads=threads).total
        for kind, spec in cases.items()
    }


class _ShownError(Exception):
    """A trial has shown what its run costs."""


def _trial(
    spec: RunSpec,
    test_samples: int,
    *,
    root: Path,
    device: str,
    threads: int,
    plugin_files: Sequence[str],
) -> Cost:
    """The costs of ``spec``, whose data set has ``test_samples`` test samples."""
    from ngo.common import plugins
    from ngo.native import pool
    from ngo.training.run import run

    plugins.load_installed()
    plugins.load(plugin_files)
    pool.keep_memory()
    pool.quick_switching()
    short = _short(spec)
    clock = time.process_time if threads == 1 and device == "cpu" else time.perf_counter
    last, done, steps, evaluations = clock(), 0, [], []

    def note(parts: list[float], number: int = 1) -> None:
        nonlocal last
        synchronize(device)
        parts.append((clock() - last) / number)
        last = clock()
        if len(evaluations) == 2:
            raise _ShownError

    def stepped(step: int) -> None:
        nonlocal done
        number, done = step - done, step
        note(steps, number)

    began = time.perf_counter(), last
    with tempfile.TemporaryDirectory() as folder, suppress(_ShownError):
        run(
            short,
            Path(folder),
            root,
            device=device,
            threads=threads,
            report=lambda row: note(evaluations),
            progress=stepped,
        )
    wall, counted = time.perf_counter() - began[0], clock() - began[1]
    # The first step allocates, but a run without waiting takes all before an evaluation at once.
    # Workers agree at the first evaluation: it has one model.
    average = statistics.median if spec.local_steps in (None, 1) else statistics.mean
    part = min(IMAGES, test_samples)
    image = evaluations[1] / (part * models(short))
    return Cost(
        sample=average(steps[1:] or steps) / (short.workers * short.batch_size),
        image=image,
        setup=max(0.0, evaluations[0] - part * image),
        slowdown=wall / counted,
    )


def _short(spec: RunSpec) -> RunSpec:
    """The run of a trial: of the same cost, with two evaluations in its first steps."""
    import torch

    from ngo.models.model import MODELS

    numbers = sum(map(torch.numel, MODELS[spec.model].build(torch.Generator()).parameters()))
    n = max(min(2, spec.workers), min(spec.workers, MOST_NUMBERS // numbers))
    few = replace(spec, workers=n, partition="iid", eval_images=IMAGES, holdout=0.0)
    epochs = STEPS * n * few.batch_size / few.owned
    return replace(few, epochs=2 * epochs, eval_every=epochs)


def _start(warm: bool) -> float:
    """CPU seconds of the start of a job, with or without a prefork server."""
    tiny = ["--dataset", "least_squares", "--model", "linear", "--task", "regression"]
    tiny += ["--method", "centralized", "--workers", "1", "--epochs", "1e-9", "--threads", "1"]
    with tempfile.TemporaryDirectory() as out:
        train = ["-m", "ngo", "train", *tiny, "--device", "cpu", "--overwrite", "--out", out]
        command = [sys.executable, *(["-c", "import ngo.cli.prefork"] if warm else train)]
        return statistics.median(_cpu_seconds(command) for _ in range(2))


def _cpu_seconds(command: Sequence[str]) -> float:
    """The CPU time of a command, with its children."""
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    return sum(os.times()[2:4]) - sum(before[2:4])
