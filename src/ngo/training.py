"""One run from its specification: the loop, its evaluations, and the files that they leave."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

import ngo
from ngo import columns, datasets, partition, pool
from ngo.consensus import synchronization_index
from ngo.datasets import Dataset
from ngo.files import write_text
from ngo.graphs import mixing_stream
from ngo.models import MODELS
from ngo.partition import Parts
from ngo.partition_file import draw, held_out
from ngo.pool import one_intra_op_thread
from ngo.population import Population
from ngo.protocols import PROTOCOLS
from ngo.seeding import torch_stream
from ngo.snapshots import Snapshots, save_snapshots
from ngo.spec import FINAL, RunSpec, check_share
from ngo.tasks import TASKS, Task


@dataclass(frozen=True)
class Evaluation:
    """One row of a run's metrics, on the test set.

    ``samples`` counts all workers' training samples so far, ``train_loss`` is the mean over the
    batches since the last evaluation, ``V`` the synchronization index; ``consensus_*`` belong to
    the mean of the workers' models, ``workers_*`` sum up the workers' own, ``holdout_*`` are the
    mean model's on the held-out training samples (NaN where none are held out). Messages are models
    (or gradients) sent from one machine to another, so far. Accuracies are shares of 1, NaN for a
    task that has none; a run is ``diverged`` from the evaluation on that finds a loss or a
    parameter that is not finite.
    """

    step: int
    epoch: float
    samples: int
    train_loss: float
    V: float
    consensus_accuracy: float
    consensus_loss: float
    workers_accuracy_mean: float
    workers_accuracy_min: float
    workers_accuracy_max: float
    workers_accuracy_std: float
    workers_loss_mean: float
    workers_loss_min: float
    workers_loss_max: float
    workers_loss_std: float
    holdout_accuracy: float
    holdout_loss: float
    messages: int
    bytes_sent: int
    diverged: bool
    seconds: float

    def __str__(self) -> str:
        accurate = math.isfinite(self.consensus_accuracy)
        score, how = ("accuracy", "6.2%") if accurate else ("loss", "8.4f")
        consensus, workers = (getattr(self, f"{who}_{score}{of}") for who, of in _WHO)
        return (
            f"epoch {self.epoch:6.2f}  step {self.step:6d}  train loss {self.train_loss:7.4f}  "
            f"V {self.V:9.3g}  test {score}: consensus {consensus:{how}}, "
            f"workers {workers:{how}}  {self.seconds:6.1f} s"
            + ("  DIVERGED" if self.diverged else "")
        )


_WHO = (("consensus", ""), ("workers", "_mean"))

# Columns that measure the machine, not the method: they differ from run to run.
CLOCK_COLUMNS = ("seconds",)


def batch_stream(
    owned: np.ndarray, batch_size: int, generator: torch.Generator
) -> Iterator[torch.Tensor]:
    """Endless batches of one worker's sample indices, ``[batch_size]`` each.

    Pass after pass in a fresh random order. Every batch is full: the last one of a pass takes the
    rest from the next pass, so that workers with unequal shares step together.
    """
    own = torch.from_numpy(owned)
    waiting = own[:0]
    while True:
        while len(waiting) < batch_size:
            order = torch.randperm(len(own), generator=generator)
            waiting = torch.cat([waiting, own[order]])
        yield waiting[:batch_size]
        waiting = waiting[batch_size:]


class Batches:
    """What each worker trains on next, from the streams of their batches (see
    :class:`ngo.backends.Batches`).
    """

    def __init__(
        self, task: Task, data: Dataset, streams: Sequence[Iterator[torch.Tensor]]
    ) -> None:
        self._task = task
        self._data = data
        self._streams = streams

    def one(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Worker i's inputs ``[b, …]`` and targets ``[b, …]``."""
        return self._batch(next(self._streams[i]))

    def all(self) -> tuple[torch.Tensor, torch.Tensor]:
        """All workers' inputs ``[n, b, …]`` and targets ``[n, b, …]``."""
        indices = torch.stack([next(stream) for stream in self._streams])
        inputs, targets = self._batch(indices.flatten())
        return inputs.unflatten(0, indices.shape), targets.unflatten(0, indices.shape)

    def _batch(self, samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        data, samples = self._data, samples.to(self._data.train_inputs.device)
        return self._task.batch(data, data.train_inputs[samples], data.train_targets[samples])


def schedule(spec: RunSpec, owned: int) -> list[int]:
    """The steps after which the run is evaluated, 0 and the last one included.

    An epoch is as many steps as pass once over the ``owned`` samples of all workers together.
    """
    per_epoch = owned / (spec.workers * spec.batch_size)
    steps = max(1, round(spec.epochs * per_epoch))
    count = int(steps / (spec.eval_every * per_epoch)) + 1
    marks = {round(k * spec.eval_every * per_epoch) for k in range(count + 1)}
    return sorted({0, steps} | {mark for mark in marks if mark < steps})


@one_intra_op_thread()
def train(
    spec: RunSpec,
    data: Dataset,
    parts: Parts,
    *,
    snapshots: Collection[int | str] = (),
    threads: int | None = None,
    report: Callable[[Evaluation], None] = lambda row: None,
    progress: Callable[[int], None] = lambda step: None,
) -> tuple[list[Evaluation], Population, Snapshots]:
    """Train one run: its evaluations, the initial one first, the population at its end, and the
    workers' models after the steps in ``snapshots`` ("final" is the last step).

    ``report`` gets every evaluation when it is made, ``progress`` the number of every step done.
    A run whose loss or parameters stop being finite ends at its next evaluation.
    """
    check_share(spec, min(len(part) for part in parts))
    start = time.perf_counter()
    device = data.train_inputs.device
    population = Population(
        spec.model,
        spec.workers,
        spec.seed,
        device=device,
        backend=spec.backend,
        precision=spec.precision,
        threads=threads,
    )
    protocol = PROTOCOLS[spec.protocol]
    streams = [
        batch_stream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
        for i, part in enumerate(parts)
    ]
    batches = Batches(TASKS[spec.task], data, streams)
    mixing = (
        mixing_stream(spec.topology, spec.workers, spec.u, torch_stream(spec.seed, "graphs"))
        if protocol.decentralized
        else None
    )
    test = _chunks(spec, data, data.test_inputs, data.test_targets)
    held = torch.from_numpy(held_out(spec, len(data.train_inputs))).to(device)
    holdout = _chunks(spec, data, data.train_inputs[held], data.train_targets[held])
    owned = sum(len(part) for part in parts)
    marks = schedule(spec, owned)
    rows: list[Evaluation] = []
    kept: Snapshots = {}
    losses: list[torch.Tensor] = []
    past: list[torch.Tensor] = []
    messages = 0
    for t in range(marks[-1] + 1):
        ends = t == marks[-1]
        if t in marks:
            scores = population.evaluate(*test)
            unseen = population.evaluate(*holdout, workers=False) if len(held) else None
            rows.append(_row(spec, population, scores, unseen, t, owned, losses, messages, start))
            report(rows[-1])
            losses = []
            ends = ends or rows[-1].diverged
        if t in snapshots or (ends and FINAL in snapshots):
            kept[t] = {"X": population.X.cpu().clone(), "buffers": population.buffers.cpu().clone()}
        if ends:
            break
        losses.append(population.gradients(batches))
        W = next(mixing) if mixing is not None else None
        with pool.using(population.spread):
            messages += protocol.step(t, population.X, population.G, W, spec, past)
        progress(t + 1)
    return rows, population, kept


def _chunks(
    spec: RunSpec, data: Dataset, inputs: torch.Tensor, targets: torch.Tensor
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """What an evaluation passes through a model at once: inputs and targets, chunk by chunk."""
    size = MODELS[spec.model].chunk
    pairs = zip(inputs.split(size), targets.split(size), strict=True)
    chunks = [TASKS[spec.task].batch(data, *pair) for pair in pairs]
    return [chunk for chunk, _ in chunks], [chunk for _, chunk in chunks]


def _row(spec, population, scores, unseen, t, owned, losses, messages, start) -> Evaluation:
    """The evaluation after step ``t``."""
    V = float(synchronization_index(population.X))
    train_loss = float(torch.stack(losses).double().mean()) if losses else math.nan
    accuracy, loss = np.array(scores.worker_accuracies), np.array(scores.worker_losses)
    finite = math.isfinite(V) and math.isfinite(scores.consensus_loss)
    return Evaluation(
        step=t,
        epoch=t * spec.workers * spec.batch_size / owned,
        samples=t * spec.workers * spec.batch_size,
        train_loss=train_loss,
        V=V,
        consensus_accuracy=scores.consensus_accuracy,
        consensus_loss=scores.consensus_loss,
        **{
            f"workers_{name}_{how}": float(getattr(values, how)())
            for name, values in (("accuracy", accuracy), ("loss", loss))
            for how in ("mean", "min", "max", "std")
        },
        holdout_accuracy=unseen.consensus_accuracy if unseen else math.nan,
        holdout_loss=unseen.consensus_loss if unseen else math.nan,
        messages=messages,
        bytes_sent=messages * population.d * population.X.element_size(),
        diverged=not (
            finite and np.isfinite(loss).all() and (not losses or math.isfinite(train_loss))
        ),
        seconds=time.perf_counter() - start,
    )


def run(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    parts: Parts | None = None,
    device: str = "cpu",
    snapshots: Collection[int | str] = (),
    threads: int | None = None,
    report: Callable[[Evaluation], None] = lambda row: None,
    progress: Callable[[int], None] = lambda step: None,
) -> Evaluation:
    """Train ``spec`` and leave ``metrics.parquet`` and ``run.json`` in the folder ``out``, and
    ``models.pt`` (see :mod:`ngo.snapshots`) if there are ``snapshots``.

    Without ``parts`` the partition is drawn here, the same as a partition file holds. Returns the
    last evaluation.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    data = datasets.load(spec.dataset, root, device)
    classes, labels = data.classes, data.labels
    parts = draw(spec, labels) if parts is None else parts
    covered = partition.summary(labels, parts, classes).classes_covered if classes else None
    rows, population, kept = train(
        spec,
        data,
        parts,
        snapshots=snapshots,
        threads=threads,
        report=report,
        progress=progress,
    )
    facts = {
        "run": spec.id,
        **asdict(spec),
        "train_samples": len(labels),
        "classes_covered": covered,
        "parameters": population.d,
    }
    if snapshots:
        save_snapshots(out / "models.pt", spec, kept)
    table = {f.name: [getattr(row, f.name) for row in rows] for f in fields(Evaluation)}
    columns.write(out / "metrics.parquet", table, facts)
    record = {
        "id": spec.id,
        "spec": asdict(spec),
        "command": ["ngo", "train", *spec.flags()],
        "seed": spec.seed,
        "parameters": population.d,
        "train_samples": len(labels),
        "classes_covered": covered,
        "snapshots": sorted(kept),
        "final": asdict(rows[-1]),
        "backend": population.backend,
        "device": _device_name(device),
        "versions": {
            "ngo": ngo.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "source": source_revision(),
        "started": started.isoformat(timespec="seconds"),
        "wall_seconds": time.perf_counter() - clock,
    }
    write_text(out / "run.json", json.dumps(_as_json(record), indent=2) + "\n")
    return rows[-1]


def source_revision() -> str | None:
    """The commit of the checkout that the package lies in, with ``-dirty`` if files have changed
    since; None where it is not in one.
    """
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def _device_name(device: str) -> str:
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device} ({platform.machine()}, {sys.platform})"


def _as_json(value: object) -> object:
    """NaN and infinity, which JSON lacks, as None."""
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
