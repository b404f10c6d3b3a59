"""One run from its specification: the loop, its evaluations, and the files that they leave."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

import ngo
from ngo import columns, datasets, partition
from ngo.consensus import synchronization_index
from ngo.datasets import DATASETS, Dataset
from ngo.files import write_text
from ngo.graphs import mixing_stream
from ngo.partition import Parts
from ngo.partition_file import draw
from ngo.population import CHUNK, Population, one_intra_op_thread
from ngo.protocols import PROTOCOLS
from ngo.seeding import torch_stream
from ngo.spec import RunSpec, check_share


@dataclass(frozen=True)
class Evaluation:
    """One row of a run's metrics, on the test set.

    ``samples`` counts all workers' training samples so far, ``train_loss`` is the mean over the
    batches since the last evaluation, ``V`` the synchronization index; ``consensus_*`` belong to
    the mean of the workers' models, ``workers_*`` sum up the workers' own. Messages are models (or
    gradients) sent from one machine to another, so far. Accuracies are shares of 1; a run is
    ``diverged`` from the evaluation on that finds a loss or a parameter that is not finite.
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
    messages: int
    bytes_sent: int
    diverged: bool
    seconds: float

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch:6.2f}  step {self.step:6d}  train loss {self.train_loss:7.4f}  "
            f"V {self.V:9.3g}  test accuracy: consensus {self.consensus_accuracy:6.2%}, "
            f"workers {self.workers_accuracy_mean:6.2%}  {self.seconds:6.1f} s"
            + ("  DIVERGED" if self.diverged else "")
        )


# Columns that measure the machine, not the method: they differ from run to run.
CLOCK_COLUMNS = ("seconds",)


def batches(
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
    backend: str = "auto",
    threads: int | None = None,
    report: Callable[[Evaluation], None] = lambda row: None,
    progress: Callable[[int], None] = lambda step: None,
) -> tuple[list[Evaluation], Population]:
    """Train one run; its evaluations, the initial one first, and the population at its end.

    ``report`` gets every evaluation when it is made, ``progress`` the number of every step done.
    A run whose loss or parameters stop being finite ends at its next evaluation.
    """
    check_share(spec, min(len(part) for part in parts))
    start = time.perf_counter()
    device = data.train_images.device
    population = Population(
        spec.model, spec.workers, spec.seed, device=device, backend=backend, threads=threads
    )
    protocol = PROTOCOLS[spec.protocol]
    streams = [
        batches(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
        for i, part in enumerate(parts)
    ]
    mixing = (
        mixing_stream(spec.topology, spec.workers, spec.u, torch_stream(spec.seed, "graphs"))
        if protocol.decentralized
        else None
    )
    test_images, test_labels = _chunks(data)
    owned = sum(len(part) for part in parts)
    marks = schedule(spec, owned)
    rows: list[Evaluation] = []
    losses: list[torch.Tensor] = []
    messages = 0
    for t in range(marks[-1] + 1):
        if t in marks:
            scores = population.evaluate(test_images, test_labels)
            rows.append(_row(spec, population, scores, t, owned, losses, messages, start))
            report(rows[-1])
            losses = []
            if rows[-1].diverged:
                break
        if t == marks[-1]:
            break
        indices = torch.stack([next(stream) for stream in streams]).to(device)
        inputs = data.normalised(data.train_images[indices.flatten()])
        losses.append(
            population.gradients(inputs.unflatten(0, indices.shape), data.train_labels[indices])
        )
        W = next(mixing) if mixing is not None else None
        messages += protocol.step(t, population.X, population.G, W, spec)
        progress(t + 1)
    return rows, population


def _chunks(data: Dataset) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    images = [data.normalised(chunk) for chunk in data.test_images.split(CHUNK)]
    return images, list(data.test_labels.split(CHUNK))


def _row(spec, population, scores, t, owned, losses, messages, start) -> Evaluation:
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
    backend: str = "auto",
    threads: int | None = None,
    report: Callable[[Evaluation], None] = lambda row: None,
    progress: Callable[[int], None] = lambda step: None,
) -> Evaluation:
    """Train ``spec`` and leave ``metrics.parquet`` and ``run.json`` in the folder ``out``.

    Without ``parts`` the partition is drawn here, the same as a partition file holds. Returns the
    last evaluation.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    data = datasets.load(spec.dataset, root, device)
    labels = data.train_labels.cpu().numpy()
    parts = draw(spec, labels) if parts is None else parts
    covered = partition.summary(labels, parts, DATASETS[spec.dataset].classes).classes_covered
    rows, population = train(
        spec, data, parts, backend=backend, threads=threads, report=report, progress=progress
    )
    facts = {"run": spec.id, **asdict(spec), "classes_covered": covered}
    table = {f.name: [getattr(row, f.name) for row in rows] for f in fields(Evaluation)}
    columns.write(out / "metrics.parquet", table, facts)
    record = {
        "id": spec.id,
        "spec": asdict(spec),
        "command": ["ngo", "train", *spec.flags()],
        "seed": spec.seed,
        "parameters": population.d,
        "classes_covered": covered,
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
