"""What one process of a distributed run does: steps, evaluations, and rejoining after a loss."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial

import torch
import torch.distributed as dist

from ngo.common.registry import UserError
from ngo.distributed.process_network import ProcessNetwork
from ngo.distributed.rendezvous import Group, PeerUnreachable, Written
from ngo.engine.population import Population, Scores
from ngo.native.threads import one_intra_op_thread
from ngo.training.evaluation import Evaluation, evaluation_steps, make_evaluation
from ngo.training.learning_problem import Problem
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper

log = logging.getLogger("ngo")

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
    #: The processes lost so far: process, workers, step and exit reason of each.
    lost: list[dict[str, object]]

    def __init__(
        self,
        spec: RunSpec,
        problem: Problem,
        stepper: Stepper,
        group: Group,
        on_failure: str,
        report: Callable[[Evaluation], None],
    ) -> None:
        """The leader calls ``report`` with each evaluation."""
        self._spec, self._problem, self._stepper = spec, problem, stepper
        self._group, self._on_failure = group, on_failure
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
        # The step from which all processes continue after a loss.
        self._resume = 0
        # Whether workers that share one model may have different ones, after a loss.
        self._apart = False
        # The counts since the start, up to the last evaluation, and up to the last attempt at one.
        self._total: Counter[str] = Counter()
        self._recorded = self._reported = self._total.copy()
        self.rows, self.traffic, self.lost = [], [], []

    @property
    def _last(self) -> int:
        """The step of the last evaluation."""
        return self.rows[-1].step if self.rows else -1

    @property
    def _over(self) -> bool:
        return self._last == self._problem.last_step or bool(self.rows and self.rows[-1].diverged)

    @one_intra_op_thread()
    def train(self, write: Callable[[], None]) -> None:
        """Train to the end, where the leader calls ``write``; no process returns before that.

        After a loss with ``on_failure`` "drop", the others continue from the step of the most
        advanced process; those behind catch up alone, without exchanges. An interrupted evaluation
        is repeated at that step.
        """
        group = self._group
        while True:
            try:
                while not self._over:
                    self._proceed()
                if group.me == group.leader:
                    write()
                group.total(torch.zeros(1))
                return
            except PeerUnreachable:
                pass  # the error refers to messages, which keep connections open: release it first
            try:
                self.rejoin()
            except Written:
                return

    def _proceed(self) -> None:
        """Make the evaluation that is due, or else take one step."""
        t, caught_up = self._stepper.t, self._stepper.t >= self._resume
        if self._apart and caught_up:
            X = self._stepper.population.X
            X.copy_(self._network.uncounted_mean(X))
            self._apart = False
        if self._last < t and caught_up and t in self._due:
            self.evaluate()
        else:
            self.step(alone=not caught_up)

    def step(self, *, alone: bool) -> None:
        """Take one step with the own workers."""
        losses = self._stepper.gradients().double()
        told = losses[: self._honest(self._network.own)]
        self._total.update(loss=float(told.sum()), losses=len(told))
        self._total["samples"] += len(losses) * self._spec.batch_size
        self._stepper.update(alone=alone)

    def _honest(self, workers: range) -> int:
        """How many of a process's ``workers`` do not lie: the first ones."""
        return len(range(workers.start, min(workers.stop, self._spec.honest)))

    def evaluate(self) -> None:
        """Evaluate the own workers and, as the leader, the mean of all."""
        network, population, problem = self._network, self._stepper.population, self._problem
        t, group, own, remaining = self._stepper.t, self._group, network.own, network.remaining
        counted = {"messages": network.messages, "message_bytes": network.bytes_sent}
        now = self._reported = Counter({**self._total, **group.sent, **counted})
        ours = [i for i in problem.evaluated if i in own]
        scores = population.evaluate(*problem.test_at(t), workers=[i - own.start for i in ours])
        by_worker = numbers([[0] * self._spec.workers] * 2)
        by_worker[:, ours] = numbers([scores.worker_losses, scores.worker_accuracies])
        new = numbers([now[name] - self._recorded[name] for name in COUNTS])
        k, honest = self._honest(own), sum(i < self._spec.honest for i in remaining)
        buffers = population.buffers[:k].double().sum(0).cpu()
        sums = group.total(torch.cat([new, by_worker.flatten(), buffers]))
        new, by_worker, buffers = sums.split([len(COUNTS), by_worker.numel(), len(buffers)])
        counts = dict(zip(COUNTS, new.tolist(), strict=True))
        losses, accuracies = by_worker.view(2, -1)[
            :, [i for i in problem.evaluated if i in remaining]
        ]
        mean, V = network.moments(population.X[:k], honest)
        seen = population.counts[:k].amax(0) if k else torch.zeros_like(population.counts[0])
        seen = group.total(seen, dist.ReduceOp.MAX)
        found = numbers([0] * 4)
        if group.me == group.leader:
            model = self._consensus
            model.X[0], model.buffers[0], model.counts[0] = mean, buffers / honest, seen
            sets = [problem.test_at(t), *filter(None, [problem.holdout])]
            of = [model.evaluate(*samples, workers=()) for samples in sets]
            pairs = [[scores.consensus_loss, scores.consensus_accuracy] for scores in of]
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
        self._add(row, {"step": t, "processes": len(group.members), **traffic})

    def _add(self, row: Evaluation, traffic: dict[str, int]) -> None:
        self._recorded = self._reported  # all have told theirs before one has a row
        self.rows.append(row)
        self.traffic.append(traffic)
        if self._group.me == self._group.leader:
            self._report(row)

    def rejoin(self) -> None:
        """Connect to the remaining processes, and continue from the last evaluation."""
        network, group = self._network, self._group
        network.copies.clear()  # of rows that one process has changed, and another may not have
        lost: dict[int, str] = {}
        connected = False
        while not connected:
            group.close()
            lost |= self._roll_call()
            with suppress(PeerUnreachable):
                group.connect()
                connected = True
        for q, reason in lost.items():
            step = max(self._stepper.t, self._resume)
            self.lost.append(
                {"process": q, "workers": list(network.shares[q]), "step": step, "how": reason}
            )
            if group.me == group.leader:
                log.warning("%s %s: continuing without it", network.describe(q), reason)
        if any(self._last < mark <= self._resume for mark in self._due):
            self._due.add(self._resume)
        self._apart = self._spec.topology is None

    def _roll_call(self) -> dict[int, str]:
        """The exit reasons of the lost processes; this one learns where the others are.

        All resume from the step of the most advanced one, with its number of exchanges. One may
        have made an evaluation that another has not.
        """
        network, group, done = self._network, self._group, self._stepper.t
        last = [asdict(self.rows[-1]), self.traffic[-1]] if self.rows else []
        state = {"done": [done, network.exchanges], "rows": len(self.rows), "last": last}
        lost, states = group.roll_call(state, self._on_failure)
        stopped = f"distributed: process {group.me} stops after step {done}:"
        if self._on_failure == "stop":
            reasons = "; ".join(f"{network.describe(q)} {reason}" for q, reason in lost.items())
            raise UserError(
                f"{stopped} {reasons or 'a connection broke'}. With --on-failure drop the others "
                f"continue."
            )
        if group.me in lost:
            raise UserError(
                f"{stopped} it was silent for longer than --timeout {group.timeout:g}, and the "
                f"others continued without it."
            )
        self._resume, network.exchanges = max(state["done"] for state in states)
        most = max(states, key=lambda state: state["rows"])
        if most["rows"] > len(self.rows):
            row, traffic = most["last"]
            self._add(Evaluation(**row), traffic)
        return lost
