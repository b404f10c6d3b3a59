"""One run from its specification: the loop, its evaluations, and the files that they leave."""

from __future__ import annotations

import hashlib
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
from ngo import columns, datasets, earlier, kernels, partition, pool
from ngo.checkpoint import NAME as CHECKPOINT
from ngo.checkpoint import Checkpoints, State
from ngo.consensus import synchronization_index
from ngo.datasets import Dataset
from ngo.files import held, sweep, writable_folder, write_text
from ngo.graphs import mixing_stream
from ngo.models import MODELS
from ngo.partition import Parts
from ngo.partition_file import draw, held_out
from ngo.pool import one_intra_op_thread
from ngo.population import Population, Scores
from ngo.protocols import PROTOCOLS
from ngo.seeding import torch_stream
from ngo.snapshots import Snapshots, save_snapshots
from ngo.sources import fingerprint, sources
from ngo.spec import CHECKPOINT_SECONDS, FINAL, RunSpec, check_share, check_snapshots
from ngo.tasks import TASKS, Task
from ngo.transfers import sent


@dataclass(frozen=True)
class Evaluation:
    """One row of a run's metrics, on the test set.

    ``samples`` counts all workers' training samples so far, ``train_loss`` is the mean over the
    batches since the last evaluation, ``V`` the synchronization index; ``consensus_*`` belong to
    the mean of the workers' models, ``workers_*`` sum up the workers' own, ``holdout_*`` are the
    mean model's on the held-out training samples (NaN where none are held out). Messages are models
    (or gradients) sent from one machine to another, so far. Accuracies are shares of 1, NaN for a
    task that has none; a run is ``diverged`` from the evaluation on that finds a loss or a
    parameter that is not finite. ``seconds`` measure the machine, not the method: they are kept
    beside the metrics, in the run's record.
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

# What a run writes into its folder.
OUTPUTS = (earlier.MODELS, earlier.METRICS, earlier.RECORD, CHECKPOINT)

# The files that decide a run, as they were when they were imported.
CODE = fingerprint(sources("ngo.training"))


class BatchStream:
    """Endless batches of one worker's sample indices, ``[batch_size]`` each.

    Pass after pass in a fresh random order. Every batch is full: the last one of a pass takes the
    rest from the next pass, so that workers with unequal shares step together.
    """

    def __init__(self, owned: np.ndarray, batch_size: int, generator: torch.Generator) -> None:
        self._own = torch.from_numpy(owned)
        self._waiting = self._own[:0]
        self._size = batch_size
        self._generator = generator

    def __iter__(self) -> Iterator[torch.Tensor]:
        return self

    def __next__(self) -> torch.Tensor:
        while len(self._waiting) < self._size:
            order = torch.randperm(len(self._own), generator=self._generator)
            self._waiting = torch.cat([self._waiting, self._own[order]])
        batch, self._waiting = self._waiting[: self._size], self._waiting[self._size :]
        return batch

    def state_dict(self) -> dict[str, torch.Tensor]:
        """What decides the batches to come."""
        return {"waiting": self._waiting.clone(), "stream": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Go on as the batches that ``state`` is of did."""
        self._waiting = state["waiting"]
        self._generator.set_state(state["stream"])


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

    def all(self) -> tuple[torch.Tensor, torch.Tensor]:
        """All workers' inputs ``[n, b, …]`` and targets ``[n, b, …]``."""
        indices = torch.stack([next(stream) for stream in self._streams])
        data, samples = self._data, sent(indices.flatten(), self._data.train_inputs.device)
        # Faster than [samples].
        chosen = (x.index_select(0, samples) for x in (data.train_inputs, data.train_targets))
        inputs, targets = self._task.batch(data, *chosen)
        return inputs.unflatten(0, indices.shape), targets.unflatten(0, indices.shape)


def schedule(spec: RunSpec, owned: int) -> list[int]:
    """The steps after which the run is evaluated, 0 and the last one included.

    An epoch is as many steps as pass once over the ``owned`` samples of all workers together.
    """
    per_epoch = owned / (spec.workers * spec.batch_size)
    steps = spec.steps(owned)
    count = int(steps / (spec.eval_every * per_epoch)) + 1
    marks = {round(k * spec.eval_every * per_epoch) for k in range(count + 1)}
    return sorted({0, steps} | {mark for mark in marks if mark < steps})


class Training:
    """A run between two steps: what it has found, and all that decides what comes next."""

    def __init__(
        self,
        spec: RunSpec,
        data: Dataset,
        parts: Parts,
        *,
        snapshots: Collection[int | str] = (),
        backend: str | None = None,
        threads: int | None = None,
    ) -> None:
        """``backend`` is the one that ``auto`` chose before; else the run's own counts."""
        check_share(spec, min(len(part) for part in parts))
        self._start = time.perf_counter()
        device = data.train_inputs.device
        self.population = Population(
            spec.model,
            spec.workers,
            spec.seed,
            device=device,
            backend=backend or spec.backend,
            precision=spec.precision,
            threads=threads,
        )
        self._spec = spec
        self._protocol = PROTOCOLS[spec.protocol]
        self._streams = [
            BatchStream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
            for i, part in enumerate(parts)
        ]
        self._batches = Batches(TASKS[spec.task], data, self._streams)
        self._graphs = torch_stream(spec.seed, "graphs")
        self._mixing = (
            mixing_stream(spec.topology, spec.workers, spec.u, self._graphs)
            if self._protocol.decentralized
            else None
        )
        self._test = chunks(spec, data, data.test_inputs, data.test_targets)
        held = torch.from_numpy(held_out(spec, len(data.train_inputs))).to(device)
        self._holdout = (
            chunks(spec, data, data.train_inputs[held], data.train_targets[held])
            if len(held)
            else None
        )
        self._owned = sum(len(part) for part in parts)
        self._marks = schedule(spec, self._owned)
        self._snapshots = snapshots
        self.steps = self._marks[-1]
        self.step = 0
        self.rows: list[Evaluation] = []
        self.kept: Snapshots = {}
        self.resumed: list[int] = []  # the steps at which it was resumed
        self._losses: list[torch.Tensor] = []  # [n] each, since the last evaluation
        self._past: list[torch.Tensor] = []
        self._messages = 0

    @property
    def ended(self) -> bool:
        """Whether the last step, or a diverged evaluation, is behind."""
        return self.step == self.steps or (bool(self.rows) and self.rows[-1].diverged)

    @property
    def seconds(self) -> float:
        """Since the start; where the run was resumed, with what led to its checkpoints, and without
        the time between.
        """
        return time.perf_counter() - self._start

    def proceed(
        self,
        *,
        checkpoints: Checkpoints | None = None,
        report: Callable[[Evaluation], None] = lambda row: None,
        progress: Callable[[int], None] = lambda step: None,
    ) -> None:
        """Train to the end; Stopped if a signal asks ``checkpoints`` for that."""
        while True:
            evaluated = self.step in self._marks and not self._is_evaluated()
            if evaluated:
                self._evaluate()
                report(self.rows[-1])
            if self.step in self._snapshots or (self.ended and FINAL in self._snapshots):
                X, buffers = self.population.X, self.population.buffers
                self.kept[self.step] = {"X": X.cpu().clone(), "buffers": buffers.cpu().clone()}
            if self.ended:
                return
            if checkpoints is not None:
                checkpoints.keep(self.step, self.steps, evaluated, self.state_dict)
            self._advance()
            progress(self.step)

    def state_dict(self) -> State:
        """What a checkpoint keeps: all that the rest of the run depends on."""
        return {
            "step": self.step,
            "seconds": self.seconds,
            "resumed": self.resumed,
            "rows": _table(self.rows),
            "kept": self.kept,
            "losses": torch.stack(self._losses) if self._losses else torch.empty(0),
            "past": self._past,
            "messages": self._messages,
            "backend": self.population.backend,
            "population": self.population.state_dict(),
            "batches": [stream.state_dict() for stream in self._streams],
            "graphs": self._graphs.get_state(),
        }

    def load_state_dict(self, state: State) -> None:
        """Go on from a state of the same run, with the same backend."""
        device = self.population.X.device
        self.step = state["step"]
        self._start = time.perf_counter() - state["seconds"]
        self.resumed = [*state["resumed"], self.step]
        self.rows = [Evaluation(*values) for values in zip(*state["rows"].values(), strict=True)]
        # With keys of our own: equal ones from elsewhere would give models.pt other bytes.
        self.kept = {
            step: {"X": models["X"], "buffers": models["buffers"]}
            for step, models in state["kept"].items()
        }
        self._losses = list(state["losses"].to(device))
        self._past = [past.to(device) for past in state["past"]]
        self._messages = state["messages"]
        self.population.load_state_dict(state["population"])
        for stream, its in zip(self._streams, state["batches"], strict=True):
            stream.load_state_dict(its)
        self._graphs.set_state(state["graphs"])

    def _advance(self) -> None:
        """One step of all workers."""
        population = self.population
        self._losses.append(population.gradients(self._batches))
        W = next(self._mixing) if self._mixing is not None else None
        with pool.using(population.spread):
            self._messages += self._protocol.step(
                self.step, population.X, population.G, W, self._spec, self._past
            )
        self.step += 1

    def _is_evaluated(self) -> bool:
        return bool(self.rows) and self.rows[-1].step == self.step

    def _evaluate(self) -> None:
        scores = self.population.evaluate(*self._test)
        unseen = self._holdout and self.population.evaluate(*self._holdout, workers=False)
        self.rows.append(self._row(scores, unseen))
        self._losses = []

    def _row(self, scores: Scores, unseen: Scores | None) -> Evaluation:
        X, losses, messages = self.population.X, self._losses, self._messages
        return evaluation(
            self._spec,
            self.step,
            self._owned,
            samples=self.step * self._spec.workers * self._spec.batch_size,
            train_loss=float(torch.stack(losses).double().mean()) if losses else math.nan,
            V=float(synchronization_index(X)),
            scores=scores,
            unseen=unseen,
            messages=messages,
            bytes_sent=messages * self.population.d * X.element_size(),
            seconds=self.seconds,
        )


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
    check_snapshots(spec, snapshots, sum(len(part) for part in parts))
    training = Training(spec, data, parts, snapshots=snapshots, threads=threads)
    training.proceed(report=report, progress=progress)
    return training.rows, training.population, training.kept


def chunks(
    spec: RunSpec, data: Dataset, inputs: torch.Tensor, targets: torch.Tensor
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """What an evaluation passes through a model at once: inputs and targets, chunk by chunk."""
    size = MODELS[spec.model].chunk_on(inputs.device)
    pairs = zip(inputs.split(size), targets.split(size), strict=True)
    chunks = [TASKS[spec.task].batch(data, *pair) for pair in pairs]
    return [chunk for chunk, _ in chunks], [chunk for _, chunk in chunks]


def evaluation(
    spec: RunSpec,
    t: int,
    owned: int,
    *,
    samples: int,
    train_loss: float,
    V: float,
    scores: Scores,
    unseen: Scores | None,
    messages: int,
    bytes_sent: int,
    seconds: float,
) -> Evaluation:
    """The row of step ``t``, from what was measured; ``unseen`` are scores on held-out samples.

    ``owned`` is the number of samples that all workers own.
    """
    accuracy, loss = np.array(scores.worker_accuracies), np.array(scores.worker_losses)
    finite = math.isfinite(V) and math.isfinite(scores.consensus_loss)
    return Evaluation(
        step=t,
        epoch=samples / owned,
        samples=samples,
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
        bytes_sent=bytes_sent,
        diverged=not (finite and np.isfinite(loss).all() and (t == 0 or math.isfinite(train_loss))),
        seconds=seconds,
    )


def _table(rows: list[Evaluation]) -> dict[str, list]:
    """Evaluations as columns."""
    return {f.name: [getattr(row, f.name) for row in rows] for f in fields(Evaluation)}


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
    report: Callable[[Evaluation], None] = lambda row: None,
    progress: Callable[[int], None] = lambda step: None,
    tell: Callable[[str], None] = lambda line: None,
) -> Evaluation:
    """Train ``spec`` and leave ``metrics.parquet`` and ``run.json`` in the folder ``out``, and
    ``models.pt`` (see :mod:`ngo.snapshots`) if there are ``snapshots``.

    Without ``parts`` the partition is drawn here, the same as a partition file holds. Returns the
    last evaluation. Until all is written there is a checkpoint in ``out`` (see
    :mod:`ngo.checkpoint`), from which the same run goes on; ``tell`` gets a line about that.
    SIGTERM and SIGINT raise Stopped after the step that they find.

    If ``out`` holds the same run, finished, nothing is trained, and ``tell`` gets a line; another
    run there, finished or not, is a UserError (see :mod:`ngo.earlier`). With ``overwrite`` either
    is trained over; a checkpoint of this run is gone on from all the same.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    data = datasets.load(spec.dataset, root, device)
    classes, labels = data.classes, data.labels
    parts = draw(spec, labels) if parts is None else parts
    covered = partition.summary(labels, parts, classes).classes_covered if classes else None
    check_snapshots(spec, snapshots, sum(len(part) for part in parts))
    about = describe(spec, data, parts, device, snapshots)
    with (
        held(writable_folder(out) / ".lock", lambda: tell(f"waiting for another run in {out}")),
        Checkpoints(
            out / CHECKPOINT, about, checkpoint_seconds, tell, overwrite=overwrite
        ) as checkpoints,
        one_intra_op_thread(),
    ):
        found = None if overwrite else earlier.finished(out, about)
        if found and not checkpoints.path.exists():
            seconds, line = found
            tell(line)
            return last_evaluation(out, seconds)
        for name in OUTPUTS:
            sweep(out / name)
        state = checkpoints.found()
        training = Training(
            spec,
            data,
            parts,
            snapshots=snapshots,
            backend=state["backend"] if state else None,
            threads=threads,
        )
        if state is not None:
            training.load_state_dict(state)
            tell(f"resuming at step {training.step} of {training.steps}")
            progress(training.step)
        training.proceed(checkpoints=checkpoints, report=report, progress=progress)
        rows, population = training.rows, training.population
        earlier.clear(out)
        if snapshots:
            save_snapshots(out / earlier.MODELS, spec, training.kept)
        how = {
            "snapshots": sorted(training.kept),
            "backend": population.backend,
            "resumed_at_steps": training.resumed,
        }
        leave(spec, out, about, labels, covered, rows, population.d, device, started, clock, how)
        checkpoints.remove()
    return rows[-1]


def last_evaluation(out: Path, seconds: float) -> Evaluation:
    """The last evaluation of the finished run in ``out``, which took ``seconds``."""
    table, _ = columns.read(out / earlier.METRICS, "out")
    values = {name: values[-1].item() for name, values in table.items()}
    return Evaluation(**values, seconds=seconds)


def leave(
    spec: RunSpec,
    out: Path,
    about: earlier.About,
    labels: np.ndarray,
    covered: int | None,
    rows: list[Evaluation],
    parameters: int,
    device: str,
    started: datetime,
    clock: float,
    how: dict[str, object],
    name: str | None = None,
) -> None:
    """Write the files of a run; what it is ``about``, and ``how`` it was done, go into the record,
    ``name`` (or its id) into the metrics.
    """
    facts = {
        "run": name or spec.id,
        **asdict(spec),
        "train_samples": len(labels),
        "classes_covered": covered,
        "parameters": parameters,
    }
    metrics = _table(rows)
    seconds = metrics.pop("seconds")
    columns.write(out / earlier.METRICS, metrics, facts)
    record = {
        "id": spec.id,
        "spec": asdict(spec),
        "command": ["ngo", "train", *spec.flags()],
        "seed": spec.seed,
        "parameters": parameters,
        "train_samples": len(labels),
        "classes_covered": covered,
        "final": {name: values[-1] for name, values in metrics.items()},
        "about": {name: value for name, value in about.items() if name not in asdict(spec)},
        "device": _device_name(device),
        **how,
        "versions": {
            "ngo": ngo.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "kernels": _kernels(device),
        },
        "source": source_revision(),
        # Since the start, resumed runs' times added up; the rest is of the last start.
        "evaluation_seconds": seconds,
        "started": started.isoformat(timespec="seconds"),
        "wall_seconds": time.perf_counter() - clock,
    }
    write_text(out / earlier.RECORD, json.dumps(_as_json(record), indent=2) + "\n")


def describe(
    spec: RunSpec,
    data: Dataset,
    parts: Parts,
    device: str,
    snapshots: Collection[int | str] = (),
    distributed: dict[str, object] | None = None,
) -> dict[str, object]:
    """Which run this is, and what it is made by (see :mod:`ngo.earlier`): what has to be the same
    for it to go on to the same bytes. ``distributed`` says in what way, if it is.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part.tobytes())
    return {
        "run": spec.id,
        "version": ngo.__version__,
        "code": CODE,
        "torch": str(torch.__version__),  # is of a class of its own
        "device": _device_name(device),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "kernels": _kernels(device),
        "snapshots": sorted({str(step) for step in snapshots}),
        **asdict(spec),
        "train_samples": len(data.train_inputs),
        "test_samples": len(data.test_inputs),
        "parts": digest.hexdigest()[:16],
        "distributed": distributed,
    }


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


def _kernels(device: str) -> str | None:
    return kernels.build() if torch.device(device).type == "cpu" else None


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
