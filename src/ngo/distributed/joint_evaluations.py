"""The evaluations of a distributed run, made from the reports of all processes."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

import torch

from ngo.distributed.moments import joint_moments, moments
from ngo.distributed.process_network import SCORES, ProcessNetwork
from ngo.engine.population import Population, Scores
from ngo.training.evaluation import Evaluation, make_evaluation
from ngo.training.problem import Problem
from ngo.training.spec import RunSpec

# Rows sent to other processes and their bytes; bytes of all other tensors.
SENT = ("models_sent", "bytes_sent", "other_bytes_sent")

# The numbers that each process counts. A report holds the differences from the last report.
COUNTS = (
    # Training samples, the sum of the losses on batches, and their number.
    *("samples", "loss", "losses"),
    # Messages of the method and their bytes, as if each worker were a machine.
    *("messages", "message_bytes"),
    *SENT,
    # The sum of the staleness of received rows, and their number.
    *("stale", "pulls"),
)


def honest_rows(spec: RunSpec, workers: range) -> int:
    """How many of a process's ``workers`` do not lie: the first ones."""
    return len(range(workers.start, min(workers.stop, spec.honest)))


def evaluated_rows(problem: Problem, workers: range) -> list[int]:
    """Which of a process's ``workers`` evaluations score, by their rows."""
    return [i - workers.start for i in problem.evaluated if i in workers]


def pack_report(
    counts: Sequence[float],
    stale: Sequence[int],
    scores: Scores,
    rows: Sequence[int],
    population: Population,
    honest: int,
) -> torch.Tensor:
    """The report of a process on its workers, a float64 vector.

    It holds the counts, the largest of ``stale``, the spread of the rows, the workers' losses and
    accuracies (0 for all but the evaluated ``rows``), the means of rows and float buffers, and the
    maxima of int64 buffers. Spread, means and maxima are those of the first ``honest`` rows;
    without one, spread and means are NaN.
    """
    mean, V = moments(population.X[:honest])
    numbers = [*counts, max(stale, default=0), float(V)]
    head = torch.tensor(numbers, dtype=torch.float64)
    scored = torch.zeros(SCORES, population.n, dtype=torch.float64)
    scored[:, rows] = torch.tensor(
        [scores.worker_losses, scores.worker_accuracies], dtype=torch.float64
    )
    buffers = population.buffers[:honest].double().mean(0)
    maxima = population.counts[: max(honest, 1)].double().amax(0)
    return torch.cat([head, scored.flatten(), mean.cpu(), buffers.cpu(), maxima.cpu()])


class Evaluations:
    """The evaluations so far. They are kept in the store, so that a new leader can read them."""

    def __init__(
        self,
        spec: RunSpec,
        problem: Problem,
        network: ProcessNetwork,
        consensus: Population,
        report: Callable[[Evaluation], None],
    ) -> None:
        """``consensus`` is a population of one worker, used to evaluate the mean of all workers.

        ``report`` is called with each evaluation.
        """
        self._spec, self._problem, self._network = spec, problem, network
        self._consensus, self._report = consensus, report
        self._store = network.group.store
        self._start = time.perf_counter()

    def read_rows(self) -> tuple[list[Evaluation], list[dict[str, float]]]:
        """The evaluations so far, and the traffic up to each."""
        count = self._store.add("rows", 0)
        kept = [json.loads(self._store.get(f"row/{k}")) for k in range(count)]
        return [Evaluation(**row) for row, _ in kept], [traffic for _, traffic in kept]

    @property
    def written(self) -> bool:
        """Whether a leader has written the results."""
        return self._store.check(["written"])

    def record(self, t: int, reports: Mapping[int, torch.Tensor]) -> bool:
        """Record the evaluation of step ``t`` from the report of each process.

        Returns whether the run has diverged; no evaluation is recorded after that.
        """
        rows, traffic = self.read_rows()
        if rows and rows[-1].diverged:
            return True
        model = self._consensus
        counts: Counter[str] = Counter()
        losses: list[float] = []
        accuracies: list[float] = []
        means, buffers, maxima, stalest = [], [], [], 0
        for q, report in reports.items():
            k = len(self._network.shares[q])
            chosen = evaluated_rows(self._problem, self._network.shares[q])
            widths = [model.d, model.buffers.shape[1], model.counts.shape[1]]
            sizes = [len(COUNTS), 1, 1, k, k, *widths]
            values, stale, V, loss, accuracy, mean, buffer, seen = report.cpu().split(sizes)
            counts.update(dict(zip(COUNTS, values.tolist(), strict=True)))
            stalest = max(stalest, int(stale))
            losses += loss[chosen].tolist()
            accuracies += accuracy[chosen].tolist()
            if honest := honest_rows(self._spec, self._network.shares[q]):
                means.append((honest, mean, V[0]))
                buffers.append((honest, buffer, V[0]))
                maxima.append(seen)
        mean, V = joint_moments(means)
        model.X.copy_(mean[None])
        model.buffers.copy_(joint_moments(buffers)[0][None])
        model.counts.copy_(torch.stack(maxima).amax(0)[None])
        scores = model.evaluate(*self._problem.test_at(t), workers=())
        holdout = self._problem.holdout
        row = make_evaluation(
            t,
            self._problem.owned,
            samples=int(counts["samples"]) + (rows[-1].samples if rows else 0),
            train_loss=counts["loss"] / counts["losses"] if counts["losses"] else math.nan,
            V=float(V),
            scores=replace(scores, worker_losses=losses, worker_accuracies=accuracies),
            holdout=model.evaluate(*holdout, workers=()) if holdout else None,
            messages=int(counts["messages"]) + (rows[-1].messages if rows else 0),
            bytes_sent=int(counts["message_bytes"]) + (rows[-1].bytes_sent if rows else 0),
            seconds=time.perf_counter() - self._start,
        )
        before = traffic[-1] if traffic else Counter()
        now = {
            "step": t,
            "processes": len(reports),
            **{name: int(counts[name]) + before[name] for name in SENT},
            "staleness_mean": counts["stale"] / counts["pulls"] if counts["pulls"] else 0.0,
            "staleness_max": stalest,
        }
        self._store.set(f"row/{len(rows)}", json.dumps([asdict(row), now]))
        self._store.add("rows", 1)
        self._report(row)
        return row.diverged
