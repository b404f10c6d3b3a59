"""What one process of a distributed run does: steps and evaluations."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import torch
import torch.distributed as dist

from ngo.common.registry import UserError
from ngo.distributed.meeting import LEADER, Group, PeerUnreachable
from ngo.distributed.process_network import ProcessNetwork
from ngo.engine.population import Population, Scores
from ngo.native.pool import one_intra_op_thread
from ngo.training.evaluation import Evaluation, evaluation_steps, make_evaluation
from ngo.training.problem import Problem
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper

numbers = partial(torch.tensor, dtype=torch.float64)

# Rows sent to other processes and their bytes; bytes of all other tensors.
SENT = ("models_sent", "bytes_sent", "other_bytes_sent")

# The numbers that each process counts: training samples, the sum of the losses on batches and their
# number; messages of the method and their bytes, as if each worker were a machine; what is sent.
COUNTS = ("samples", "loss", "losses", "messages", "message_bytes", *SENT)


class Participant:
    """One process's part of a run: its own workers, their progress, and all evaluations so far.

    All processes make the same evaluations, from sums over all processes.
    """

    #: The evaluations so far, and what all processes had sent up to each.
    rows: list[Evaluation]
    traffic: list[dict[str, int]]

    def __init__(
        self,
        spec: RunSpec,
        problem: Problem,
        stepper: Stepper,
        group: Group,
        report: Callable[[Evaluation], None],
    ) -> None:
        """The leader calls ``report`` with each evaluation."""
        self._spec, self._problem, self._stepper = spec, problem, stepper
        self._group = group
        self._network = ProcessNetwork(group, spec.workers, stepper.population.spread)
        stepper.connect(self._network)
        self._report = report
        # The mean of all workers is evaluated in it.
        threads = stepper.population.threads
        self._consensus = Population(
            problem.model, 1, spec.seed, task=problem.task, device=problem.device, threads=threads
        )
        self._start = time.perf_counter()
        # The steps after which the run is evaluated.
        self._due = set(evaluation_steps(spec, problem.owned))
        # The counts since the start, and up to the last evaluation.
        self._total: Counter[str] = Counter()
        self._recorded: Counter[str] = Counter()
        self.rows, self.traffic = [], []

    @one_intra_op_thread()
    def train(self, write: Callable[[], None]) -> None:
        """Train to the end, where the leader calls ``write``; no process returns before that.

        If a process is lost before, a UserError says which.
        """
        group, stepper = self._group, self._stepper
        try:
            while not self._over:
                last = self.rows[-1].step if self.rows else -1
                if last < stepper.t and stepper.t in self._due:
                    self.evaluate()
                else:
                    self.step()
            if group.me == LEADER:
                write()
            group.total(torch.zeros(1))
            return
        except PeerUnreachable:
            pass  # the error refers to messages, which keep connections open: release it first
        if lost := group.lost():
            reasons = "; ".join(f"{self._network.describe(q)} {how}" for q, how in lost.items())
            raise UserError(
                f"distributed: process {group.me} stops after step {stepper.t}: {reasons}."
            )

    @property
    def _over(self) -> bool:
        last = self.rows[-1] if self.rows else None
        return last is not None and (last.step == self._problem.last_step or last.diverged)

    def step(self) -> None:
        """Take one step with the own workers."""
        losses = self._stepper.gradients().double()
        told = losses[: self._honest(self._network.own)]
        self._total.update(loss=float(told.sum()), losses=len(told))
        self._total["samples"] += len(losses) * self._spec.batch_size
        self._stepper.update()

    def _honest(self, workers: range) -> int:
        """How many of a process's ``workers`` do not lie: the first ones."""
        return len(range(workers.start, min(workers.stop, self._spec.honest)))

    def evaluate(self) -> None:
        """Evaluate the own workers and, as the leader, the mean of all."""
        network, population, problem = self._network, self._stepper.population, self._problem
        t, group, own = self._stepper.t, self._group, network.own
        counted = {"messages": network.messages, "message_bytes": network.bytes_sent}
        now = Counter({**self._total, **group.sent, **counted})
        ours = [i for i in problem.evaluated if i in own]
        scores = population.evaluate(*problem.test_at(t), workers=[i - own.start for i in ours])
        each = numbers([[0] * self._spec.workers] * 2)
        each[:, ours] = numbers([scores.worker_losses, scores.worker_accuracies])
        new = numbers([now[name] - self._recorded[name] for name in COUNTS])
        k, honest = self._honest(own), self._spec.honest
        buffers = population.buffers[:k].double().sum(0).cpu()
        sums = group.total(torch.cat([new, each.flatten(), buffers]))
        new, each, buffers = sums.split([len(COUNTS), each.numel(), len(buffers)])
        counts = dict(zip(COUNTS, new.tolist(), strict=True))
        losses, accuracies = each.view(2, -1)[:, problem.evaluated]
        mean, V = network.moments(population.X[:k], honest)
        seen = population.counts[:k].amax(0) if k else torch.zeros_like(population.counts[0])
        seen = group.total(seen, dist.ReduceOp.MAX)
        found = numbers([0] * 4)
        if group.me == LEADER:
            model = self._consensus
            model.X[0], model.buffers[0], model.counts[0] = mean, buffers / honest, seen
            sets = [problem.test_at(t), *filter(None, [problem.holdout])]
            of = [model.evaluate(*each, workers=()) for each in sets]
            pairs = [[each.consensus_loss, each.consensus_accuracy] for each in of]
            found[: 2 * len(of)] = numbers(pairs).flatten()
        test, accuracy, *held_out = group.total(found).tolist()
        before = self.rows[-1] if self.rows else None
        row = make_evaluation(
            t,
            problem.owned,
            samples=int(counts["samples"]) + (before.samples if before else 0),
            train_loss=counts["loss"] / counts["losses"] if counts["losses"] else math.nan,
            V=float(V),
            scores=Scores(test, accuracy, losses.tolist(), accuracies.tolist()),
            holdout=Scores(*held_out, [], []) if problem.holdout else None,
            messages=int(counts["messages"]) + (before.messages if before else 0),
            bytes_sent=int(counts["message_bytes"]) + (before.bytes_sent if before else 0),
            seconds=time.perf_counter() - self._start,
        )
        sent = self.traffic[-1] if self.traffic else Counter()
        traffic = {name: int(counts[name]) + sent[name] for name in SENT}
        self._recorded = now
        self.rows.append(row)
        self.traffic.append({"step": t, **traffic})
        if group.me == LEADER:
            self._report(row)
