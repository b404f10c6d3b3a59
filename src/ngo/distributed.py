"""A run on several processes, on one machine or on many, whose models really cross a network.

Each process has the rows, the training samples and the streams of its own workers; the test set is
everywhere. Every stream has the key that it has in a simulation, and the protocols are those of
:mod:`ngo.protocols`, so that a synchronous run is the simulation's to rounding. In an asynchronous
one workers do not wait for each other. :mod:`ngo.network` says how models travel,
:mod:`ngo.processes` how processes find and lose each other.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from ngo import datasets, partition, pool, training
from ngo.datasets import Dataset
from ngo.devices import chosen
from ngo.graphs import mixing_stream
from ngo.network import Asynchronous, Network, joint, moments
from ngo.partition import Parts
from ngo.partition_file import draw, held_out
from ngo.pool import cores, one_intra_op_thread
from ngo.population import Population, Scores
from ngo.processes import ON_FAILURE, Lost, joined
from ngo.protocols import PROTOCOLS, TOGETHER
from ngo.registry import UserError, unknown
from ngo.seeding import torch_stream
from ngo.spec import RunSpec, check_share
from ngo.training import Evaluation

# What each process counts; a report has what came since the last.
COUNTS = ("samples", "loss", "losses", "messages", "models", "bytes", "other", "stale", "pulls")


def check(spec: RunSpec, out: Path, processes: int, asynchronous: bool, on_failure: str) -> None:
    """Raise a UserError for what a distributed run can't do."""
    if on_failure not in ON_FAILURE:
        raise unknown("on-failure", on_failure, ON_FAILURE)
    if processes > spec.workers:
        raise UserError(
            f"processes: {processes} is more than the {spec.workers} workers; it must be "
            f"{spec.workers} or less."
        )
    free = sorted(name for name, entry in PROTOCOLS.items() if entry.asynchronous)
    if asynchronous and spec.protocol not in free:
        raise UserError(
            f"asynchronous: the workers of protocol {spec.protocol!r} have to wait; allowed: "
            f"{', '.join(free)}."
        )
    if out.resolve().name == spec.id:
        raise UserError(
            f"out: the folder {str(out)!r} has the name of the simulated run, whose bytes a "
            f"distributed run does not give; choose another name."
        )


@dataclass(frozen=True)
class Share:
    """What one process needs of the data: the training samples of its own workers with their
    ``parts``, and what is evaluated, in chunks. All workers together own ``owned`` samples.
    """

    data: Dataset
    parts: Parts
    owned: int
    test: tuple[list[torch.Tensor], list[torch.Tensor]]
    holdout: tuple[list[torch.Tensor], list[torch.Tensor]] | None


def share(spec: RunSpec, data: Dataset, parts: Parts, own: Sequence[int]) -> Share:
    """The share of the process with the workers ``own``."""
    check_share(spec, min(len(part) for part in parts))
    inputs, targets = data.train_inputs, data.train_targets
    kept = torch.from_numpy(np.concatenate([parts[i] for i in own])).to(inputs.device)
    held = torch.from_numpy(held_out(spec, len(inputs))).to(inputs.device)
    ends = np.cumsum([0, *(len(parts[i]) for i in own)])
    return Share(
        replace(data, train_inputs=inputs[kept], train_targets=targets[kept]),
        [np.arange(*pair) for pair in pairwise(ends)],
        sum(len(part) for part in parts),
        training.chunks(spec, data, data.test_inputs, data.test_targets),
        training.chunks(spec, data, inputs[held], targets[held]) if len(held) else None,
    )


def pack(
    counts: Sequence[float], stale: Sequence[int], scores: Scores, population: Population
) -> torch.Tensor:
    """A process's report on its workers as a float64 vector: :data:`COUNTS`, the largest of
    ``stale``, the spread of its rows, losses, accuracies, and the means of rows and of buffers.
    """
    mean, V = moments(population.X)
    numbers = [*counts, max(stale, default=0), float(V)]
    scored = [*scores.worker_losses, *scores.worker_accuracies]
    head = torch.tensor([*numbers, *scored], dtype=torch.float64)
    return torch.cat([head, mean.cpu(), population.buffers.double().mean(0).cpu()])


class Ledger:
    """The rows of a run, made from reports. They lie in the store, where a new leader finds them.

    ``consensus`` is a population of one, which the mean of all workers is evaluated with.
    """

    def __init__(
        self,
        spec: RunSpec,
        mine: Share,
        network: Network,
        consensus: Population,
        report: Callable[[Evaluation], None],
    ) -> None:
        self._spec, self._mine, self._network = spec, mine, network
        self._consensus, self._report = consensus, report
        self._store = network.group.store
        self._start = time.perf_counter()

    def read(self) -> tuple[list[Evaluation], list[dict[str, float]]]:
        """The evaluations so far, and what the network did up to each."""
        kept = [json.loads(self._store.get(f"row/{k}")) for k in range(self._store.add("rows", 0))]
        return [Evaluation(**row) for row, _ in kept], [traffic for _, traffic in kept]

    def record(self, t: int, reports: Mapping[int, torch.Tensor]) -> bool:
        """Make the row of step ``t`` from each process's report; whether the run diverged."""
        rows, traffic = self.read()
        model = self._consensus
        counts: Counter[str] = Counter()
        losses: list[float] = []
        accuracies: list[float] = []
        means, buffers, stalest = [], [], 0
        for q, report in reports.items():
            k = len(self._network.shares[q])
            sizes = [len(COUNTS), 1, 1, k, k, model.d, model.buffers.shape[1]]
            values, stale, V, loss, accuracy, mean, buffer = report.cpu().split(sizes)
            counts.update(dict(zip(COUNTS, values.tolist(), strict=True)))
            stalest = max(stalest, int(stale))
            losses += loss.tolist()
            accuracies += accuracy.tolist()
            means.append((k, mean, V[0]))
            buffers.append((k, buffer, V[0]))
        mean, V = joint(means)
        model.X.copy_(mean[None])
        model.buffers.copy_(joint(buffers)[0][None])
        scores = model.evaluate(*self._mine.test, workers=False)
        holdout = self._mine.holdout
        messages = int(counts["messages"]) + (rows[-1].messages if rows else 0)
        row = training.evaluation(
            self._spec,
            t,
            self._mine.owned,
            samples=int(counts["samples"]) + (rows[-1].samples if rows else 0),
            train_loss=counts["loss"] / counts["losses"] if counts["losses"] else math.nan,
            V=float(V),
            scores=replace(scores, worker_losses=losses, worker_accuracies=accuracies),
            unseen=model.evaluate(*holdout, workers=False) if holdout else None,
            messages=messages,
            bytes_sent=messages * model.d * model.X.element_size(),
            seconds=time.perf_counter() - self._start,
        )
        before = traffic[-1] if traffic else Counter()
        now = {
            "step": t,
            "processes": len(reports),
            "models_sent": int(counts["models"]) + before["models_sent"],
            "bytes_sent": int(counts["bytes"]) + before["bytes_sent"],
            "other_bytes_sent": int(counts["other"]) + before["other_bytes_sent"],
            "staleness_mean": counts["stale"] / counts["pulls"] if counts["pulls"] else 0.0,
            "staleness_max": stalest,
        }
        self._store.set(f"row/{len(rows)}", json.dumps([asdict(row), now]))
        self._store.add("rows", 1)
        self._report(row)
        return row.diverged


@one_intra_op_thread()
def train(
    spec: RunSpec,
    mine: Share,
    network: Network,
    *,
    on_failure: str = "stop",
    threads: int | None = None,
    report: Callable[[Evaluation], None] = lambda row: None,
) -> tuple[Ledger, Population, list[dict[str, object]]]:
    """A process's part of a run: the rows, its own workers, and the processes lost on the way.

    When a process is lost, the others go on (``on_failure`` "drop") from the step of the one that
    is furthest; those behind take their steps up to it alone, without a pull. An evaluation that
    the loss broke is made there.
    """
    group, data = network.group, mine.data
    how = {"device": data.train_inputs.device, "threads": threads}
    how |= {"backend": spec.backend, "precision": spec.precision}
    population = Population(spec.model, len(network.own), spec.seed, workers=network.own, **how)
    ledger = Ledger(spec, mine, network, Population(spec.model, 1, spec.seed, **how), report)
    protocol = PROTOCOLS[spec.protocol]
    due = set(training.schedule(spec, mine.owned))
    end = max(due)
    streams = [
        training.BatchStream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
        for i, part in zip(network.own, mine.parts, strict=True)
    ]
    batches = training.Batches(population.task, data, streams)
    mixing = (
        mixing_stream(spec.topology, spec.workers, spec.u, torch_stream(spec.seed, "graphs"))
        if protocol.decentralized
        else None
    )
    nobody = torch.eye(len(network.own), dtype=torch.float64)
    total: Counter[str] = Counter()  # of COUNTS, since the start
    recorded: Counter[str] = Counter()  # the same, up to the last row
    reported: tuple[int, Counter[str]] = (0, recorded)  # and up to the last report, with its step

    def conclude(t: int) -> bool:
        nonlocal recorded, reported
        scores = population.evaluate(*mine.test)
        if t == end:
            network.settle()
        sent = {"models": group.sent["gossip", "models"], "bytes": group.sent["gossip", "bytes"]}
        other = sum(group.sent[purpose, "bytes"] for purpose in ("reports", "control"))
        messages = network.messages(total["messages"])
        total.update(stale=sum(network.stale), pulls=len(network.stale))
        now = Counter({**total, **sent, "other": other, "messages": messages})
        since = [now[name] - recorded[name] for name in COUNTS]
        reported = (t, now)
        ends = network.conclude(t, pack(since, network.stale, scores, population), ledger.record)
        network.stale.clear()
        recorded = now
        return ends or t == end

    past: list[torch.Tensor] = []
    lost: list[dict[str, object]] = []
    t, last, resume = 0, -1, 0  # the steps done; that of the last row; that from which all go on
    apart = ended = False
    while True:
        try:
            if apart and t == resume:  # those who share one model may have parted
                population.X.copy_(network.mean(population.X)[0])
                apart = False
            if not ended and last < t and t >= resume and t in due:
                ended, last = conclude(t), t
            if ended:
                network.finish(ledger.record)
                return ledger, population, lost
            alone = t < resume
            losses = population.gradients(batches).double()
            total.update(loss=float(losses.sum()), losses=len(losses))
            total["samples"] += len(losses) * spec.batch_size
            W = network.present(next(mixing)) if mixing is not None else None
            network.step, t = t, t + 1  # a step that breaks off in the exchange is done: no pull
            with pool.using(population.spread):
                total["messages"] += protocol.step(
                    network.step,
                    population.X,
                    population.G,
                    nobody if alone else W,
                    spec,
                    past,
                    network=TOGETHER if alone else network,
                )
            continue
        except Lost:
            pass  # the connections close when nothing refers to their messages, as the error does
        gone = network.recover(t, on_failure)
        resume = group.resume
        for q, how in gone.items():
            workers = list(network.shares[q])
            lost.append({"process": q, "workers": workers, "step": max(t, resume), "how": how})
            if group.me == group.leader:
                print(f"{network.called(q)} {how}: on without it", file=sys.stderr)
        rows, _ = ledger.read()
        last = rows[-1].step if rows else -1
        recorded = reported[1] if reported[0] <= last else recorded
        due |= {resume} if any(last < mark <= resume for mark in due) else set()
        apart = not protocol.decentralized


def run(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    parts: Parts | None = None,
    device: str = "auto",
    threads: int | None = None,
    timeout: float,
    on_failure: str = "stop",
    asynchronous: bool = False,
    report: Callable[[Evaluation], None] = lambda row: None,
) -> Evaluation | None:
    """Take part in training ``spec`` as one process; the leader writes the files of
    :func:`ngo.training.run`, and returns the last evaluation. Others return None.

    ``run.json`` has ``distributed`` besides: the mode, the processes, those lost, and the traffic
    and staleness up to each evaluation. The metrics of an asynchronous run, or of one that lost a
    process, have a name of their own.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    place, communication = _placed(device, on_failure == "drop" or asynchronous)
    group = joined(communication, timeout)
    processes = len(group.members)
    check(spec, out, processes, asynchronous, on_failure)
    labels, classes = (
        datasets.train_labels(spec.dataset, root),
        datasets.DATASETS[spec.dataset].classes,
    )
    parts = draw(spec, labels) if parts is None else parts
    network = (Asynchronous if asynchronous else Network)(group, spec.workers)
    mine = share(spec, datasets.load(spec.dataset, root, place), parts, network.own)
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    ledger, population, lost = train(
        spec,
        mine,
        network,
        on_failure=on_failure,
        threads=threads or max(1, cores() // local),
        report=report,
    )
    if group.me != group.leader:
        return None
    rows, traffic = ledger.read()
    gone = sum(len(entry["workers"]) for entry in lost)
    changes = ["-asynchronous"] * asynchronous + [f"-lost{gone}"] * bool(gone)
    facts = {
        "snapshots": [],
        "backend": population.backend,
        "distributed": {
            "mode": "asynchronous" if asynchronous else "synchronous",
            "processes": processes,
            "communication": communication,
            "on_failure": on_failure,
            "lost": lost,
            "evaluations": traffic,
        },
    }
    covered = partition.summary(labels, parts, classes).classes_covered if classes else None
    training.leave(
        spec, out, labels, covered, rows, population.d, place, started, clock, facts,
        name=spec.id + "".join(changes),
    )  # fmt: skip
    group.store.set("written", "")
    return rows[-1]


def _placed(device: str, host: bool) -> tuple[str, str]:
    """The device of this process, and the backend that its messages take.

    On a machine with a GPU for each of its processes that is NCCL; elsewhere, and where processes
    may leave (``host``), gloo, for which models go through the host's memory.
    """
    if chosen(device) == "cpu":
        return "cpu", "gloo"
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    gpus = torch.cuda.device_count()
    place = int(os.environ.get("LOCAL_RANK", "0")) % gpus
    torch.cuda.set_device(place)
    each = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) <= gpus
    return f"cuda:{place}", "nccl" if each and not host else "gloo"
