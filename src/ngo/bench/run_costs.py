"""What a training step, an evaluation and the rest of a run cost on this machine.

As many processes as a pipeline would have jobs measure at the same time, since they share the
memory and its bandwidth. A run with one thread is measured in CPU time: what other programs take
does not count.
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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.bench.turns import synchronize
from ngo.common.registry import UserError
from ngo.training.spec import RunSpec

if TYPE_CHECKING:
    from ngo.data.dataset import Dataset

LOG = logging.getLogger("ngo")

# Numbers in the parameters of all workers of a measured step, at most: a larger model is measured
# with fewer workers, whose samples cost the same.
MOST_NUMBERS = 60_000_000

# Test samples of a measured evaluation.
IMAGES = 1_000

Key = tuple


@dataclass(frozen=True)
class Measured:
    """Seconds of the parts of runs."""

    #: Per training sample, by ``step_key``.
    samples: Mapping[Key, float]
    #: Per test sample and model, by ``image_key``.
    images: Mapping[Key, float]
    #: Of a run beside its steps and evaluations, in a process that has imported everything.
    around: Mapping[Key, float]
    #: The sizes of the training and test set.
    sizes: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Share(Measured):
    """What one process has measured."""

    #: Wall time and CPU time of the measured steps.
    wall: float
    cpu: float


@dataclass(frozen=True)
class Costs(Measured):
    """The medians over processes."""

    #: The start of a job: a process that imports everything, and one that asks a prefork server.
    cold: float
    warm: float
    #: Wall time per CPU time: above 1 if other programs take a share of the cores.
    slowdown: float


def step_key(spec: RunSpec) -> Key:
    """Runs with the same key have steps of the same cost per sample."""
    names = ("dataset", "model", "task", "augmentation", "local_rule", "precision", "backend")
    exchange = (spec.method, spec.topology, spec.coupling, spec.p == 1, spec.local_steps)
    return *(getattr(spec, name) for name in names), spec.batch_size, spec.workers, *exchange


def image_key(spec: RunSpec) -> Key:
    """Runs with the same key have evaluations of the same cost per sample and model."""
    return spec.dataset, spec.model, spec.task


def run_costs(
    specs: Sequence[RunSpec],
    root: Path,
    *,
    device: str = "cpu",
    threads: int = 1,
    jobs: int = 1,
    plugins: Sequence[str] = (),
    seconds: float = 12,
) -> Costs:
    """The costs of runs like ``specs``, with ``threads`` each and ``jobs`` of them at a time.

    Steps are measured for about ``seconds`` in all; to prepare them takes about as long. Raises a
    UserError if one of the measuring processes is killed.
    """
    cases = list({step_key(spec): spec for spec in specs}.values())
    each = min(0.5, max(0.1, seconds / max(1, len(cases))))
    context = multiprocessing.get_context("spawn")
    LOG.info("forecast: %d kinds of steps, in %d processes", len(cases), jobs)
    ends, children = [], []
    try:
        for k in (len(cases) * i // jobs for i in range(jobs)):
            ours, theirs = context.Pipe()
            # Each in an order of its own, as jobs of a pipeline differ.
            what = (cases[k:] + cases[:k], root, device, threads, each, plugins)
            children.append(context.Process(target=_answer, args=(theirs, what), daemon=True))
            children[-1].start()
            theirs.close()
            ends.append(ours)
        shares = [_received(end) for end in ends]
    finally:
        for child in children:
            child.terminate()
            child.join()
    cold, warm = _starts(shares[0].around.get(_TINY, 0.0))
    return Costs(
        samples=_medians([share.samples for share in shares]),
        images=_medians([share.images for share in shares]),
        around=_medians([share.around for share in shares]),
        sizes=shares[0].sizes,
        cold=cold,
        warm=warm,
        slowdown=max(1.0, sum(s.wall for s in shares) / max(1e-9, sum(s.cpu for s in shares))),
    )


def _received(end: Connection) -> Share:
    """What a measuring process has sent; its UserError is raised here."""
    try:
        share = end.recv()
    except EOFError:
        raise UserError("time: a measuring process ended early; is there enough memory?") from None
    if isinstance(share, UserError):
        raise share
    return share


def _answer(end: Connection, what: tuple) -> None:
    """Measure, and send the result; a parent that has gone by then is no error."""
    try:
        share = _measure(*what)
    except UserError as error:
        share = error
    with suppress(BrokenPipeError):
        end.send(share)


def _medians(shares: Sequence[Mapping[Key, float]]) -> dict[Key, float]:
    return {key: statistics.median(share[key] for share in shares) for key in shares[0]}


# A run whose cost beside steps and evaluations shows what the start of a process costs.
_TINY = "tiny"
_TINY_RUN = ("--dataset", "least_squares", "--model", "linear", "--task", "regression")
_TINY_RUN += ("--method", "centralized", "--workers", "1", "--batch-size", "1")


def _measure(
    cases: Sequence[RunSpec],
    root: Path,
    device: str,
    threads: int,
    seconds: float,
    plugin_files: Sequence[str],
) -> Share:
    from ngo.common import plugins
    from ngo.data import loading
    from ngo.native import pool
    from ngo.training.resolve import resolve

    plugins.load_installed()
    plugins.load(list(plugin_files))
    pool.keep_memory()
    pool.quick_switching()
    clock = time.process_time if threads == 1 and device == "cpu" else time.perf_counter
    data = {name: loading.load(name, root, device) for name in {s.dataset for s in cases}}
    sizes = {name: (len(d.train_inputs), len(d.test_inputs)) for name, d in data.items()}
    samples, images, around = {}, {}, {}
    wall = cpu = 0.0
    with pool.one_intra_op_thread():
        for spec in cases:
            small = _with_few_tests(data[spec.dataset])
            measured = image_key(spec) not in images
            start = time.perf_counter(), time.process_time()
            samples[step_key(spec)], per_image = _step(
                spec, small, threads, clock, seconds, device, evaluate=measured
            )
            wall += time.perf_counter() - start[0]
            cpu += time.process_time() - start[1]
            if measured:
                images[image_key(spec)] = per_image
                around[image_key(spec)] = _around(spec, root, device, threads, clock)
    if clock is time.perf_counter:
        wall = cpu  # their ratio has no meaning
    tiny = {"dataset": "least_squares", "model": "linear", "task": "regression"}
    tiny |= {"method": "centralized", "workers": 1, "batch_size": 1}
    around[_TINY] = _around(resolve(tiny), root, device, threads, clock)
    return Share(samples, images, around, sizes, wall, cpu)


def _with_few_tests(data: Dataset) -> Dataset:
    return replace(
        data, test_inputs=data.test_inputs[:IMAGES], test_targets=data.test_targets[:IMAGES]
    )


def _step(
    spec: RunSpec,
    data: Dataset,
    threads: int,
    clock: Callable[[], float],
    seconds: float,
    device: str,
    *,
    evaluate: bool,
) -> tuple[float, float | None]:
    """Seconds per training sample, and per test sample and model."""
    from ngo.training.problem import make_problem
    from ngo.training.stepper import Stepper

    n = max(min(2, spec.workers), min(spec.workers, MOST_NUMBERS // _numbers(spec)))
    spec = replace(spec, eval_images=0, workers=n, partition="iid")
    problem = make_problem(spec, data)
    stepper = Stepper(spec, problem, steps=10**6, threads=threads)

    def timed(work: Callable[[], object], least: int) -> float:
        work()  # the first one allocates
        synchronize(device)
        times = []
        end, late = clock() + seconds, time.perf_counter() + 4 * seconds  # on a busy machine
        while len(times) < least or (clock() < end and time.perf_counter() < late):
            start = clock()
            work()
            synchronize(device)
            times.append(clock() - start)
        return statistics.median(times) if spec.local_steps in (None, 1) else statistics.mean(times)

    per_sample = timed(stepper.advance, 2) / (n * spec.batch_size)
    if not evaluate:
        return per_sample, None
    population = stepper.population
    models = 1 + (n if bool((population.X[0] != population.X).any()) else 0)
    count = models * sum(len(chunk) for chunk in problem.test[1])
    return per_sample, timed(lambda: population.evaluate(*problem.test), 1) / count


def _numbers(spec: RunSpec) -> int:
    """The number of parameters of one model."""
    import torch

    from ngo.models.model import MODELS

    return sum(map(torch.numel, MODELS[spec.model].build(torch.Generator()).parameters()))


def _around(
    spec: RunSpec, root: Path, device: str, threads: int, clock: Callable[[], float]
) -> float:
    """The seconds of a run beside its steps and evaluations."""
    from ngo.training.run import run

    short = replace(spec, epochs=1e-9, eval_images=1, holdout=0.0)
    marks = []

    with tempfile.TemporaryDirectory() as folder:
        run(short, Path(folder), root, device=device, threads=threads)  # the first one imports
        marks.clear()
        start = clock()
        how = {"overwrite": True, "report": lambda row: marks.append(clock())}
        run(short, Path(folder), root, device=device, threads=threads, **how)
        return marks[0] - start + clock() - marks[-1]


def _starts(tiny: float) -> tuple[float, float]:
    """CPU seconds of the start of ``ngo train``, without and with a prefork server.

    ``tiny`` are those of the command's own run.
    """
    with tempfile.TemporaryDirectory() as folder:
        train = [sys.executable, "-m", "ngo", "train", *_TINY_RUN, "--epochs", "1e-9"]
        train += ["--threads", "1", "--device", "cpu", "--overwrite", "--out", folder]
        cold = statistics.median(_cpu_seconds(train) for _ in range(2))
    ask = [sys.executable, "-c", "import ngo.cli.prefork"]
    return max(0.0, cold - tiny), statistics.median(_cpu_seconds(ask) for _ in range(2))


def _cpu_seconds(command: Sequence[str]) -> float:
    """The CPU time of a command, with its children."""
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    return sum(os.times()[2:4]) - sum(before[2:4])
