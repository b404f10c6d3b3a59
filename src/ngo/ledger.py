"""The rows of a distributed run, made of what each process reports at an evaluation."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

import torch

from ngo import training
from ngo.network import Network, joint, moments
from ngo.population import Population, Scores
from ngo.shares import Share
from ngo.spec import RunSpec
from ngo.training import Evaluation

# What each process counts; a report has what came since the last.
COUNTS = ("samples", "loss", "losses", "messages", "models", "bytes", "other", "stale", "pulls")


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

    @property
    def written(self) -> bool:
        """Whether a leader has written the results."""
        return self._store.check(["written"])

    def record(self, t: int, reports: Mapping[int, torch.Tensor]) -> bool:
        """Make the row of step ``t`` from each process's report; whether the run diverged. A row
        that diverged is the last.
        """
        rows, traffic = self.read()
        if rows and rows[-1].diverged:
            return True
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
