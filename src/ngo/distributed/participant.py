"""What one process of a distributed run does: steps, evaluations, and rejoining after a loss."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from ngo.distributed.joint_evaluations import (
    COUNTS,
    Evaluations,
    evaluated_rows,
    honest_rows,
    pack_report,
)
from ngo.distributed.process_group import PeerUnreachable
from ngo.distributed.process_network import ProcessNetwork
from ngo.native.pool import one_intra_op_thread
from ngo.training.evaluation import evaluation_steps
from ngo.training.problem import Problem
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper

log = logging.getLogger("ngo")


class Participant:
    """One process's part of a run: its own workers and their progress."""

    #: The processes lost so far: process, workers, step and exit reason of each.
    lost: list[dict[str, object]]

    def __init__(
        self,
        spec: RunSpec,
        problem: Problem,
        stepper: Stepper,
        evaluations: Evaluations,
        network: ProcessNetwork,
        on_failure: str,
    ) -> None:
        self._spec, self._problem, self._on_failure = spec, problem, on_failure
        self._stepper, self._evaluations, self._network = stepper, evaluations, network
        self._honest = honest_rows(spec, network.own)
        # The steps after which the run is evaluated.
        self._due = set(evaluation_steps(spec, problem.owned))
        self._end = problem.last_step
        # The step from which all processes continue after a loss.
        self._resume = 0
        # The step of the last evaluation, and whether the run ends with it.
        self._last = -1
        self._over = False
        # Whether workers that share one model may have different ones, after a loss.
        self._apart = False
        # The counts since the start; those up to the last evaluation; the step of the last report,
        # and the counts up to it.
        self._total: Counter[str] = Counter()
        self._recorded: Counter[str] = Counter()
        self._reported = (0, self._recorded)
        self.lost = []

    @one_intra_op_thread()
    def train(self, write: Callable[[], None]) -> None:
        """Train to the end, where the leader calls ``write``; no process returns before that.

        After a loss with ``on_failure`` "drop", the others continue from the step of the most
        advanced process; those behind catch up alone, without exchanges. An interrupted evaluation
        is repeated at that step.
        """
        while True:
            try:
                while not self._over:
                    self._proceed()
                self._network.finish(self._evaluations.record, write)
                return
            except PeerUnreachable:
                # The error refers to messages, which keep connections open: release it first.
                pass
            if self._over and self._evaluations.written:
                return
            self.rejoin()

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
        told = losses[: self._honest]
        self._total.update(loss=float(told.sum()), losses=len(told))
        self._total["samples"] += len(losses) * self._spec.batch_size
        self._network.step = self._stepper.t
        self._stepper.update(alone=alone)

    def evaluate(self) -> None:
        """Report on the own workers; the leader makes an evaluation from all reports."""
        t, network, population = self._stepper.t, self._network, self._stepper.population
        rows = evaluated_rows(self._problem, network.own)
        scores = population.evaluate(*self._problem.test_at(t), workers=rows)
        if t == self._end:
            network.drop_unsent()
        self._total.update(stale=sum(network.stale), pulls=len(network.stale))
        now = Counter({**self._total, **network.totals()})
        self._reported = (t, now)
        counts = [now[name] - self._recorded[name] for name in COUNTS]
        report = pack_report(counts, network.stale, scores, rows, population, self._honest)
        ends = network.send_report(t, report, self._evaluations.record)
        network.stale.clear()
        self._recorded, self._last = now, t
        self._over = ends or t == self._end

    def rejoin(self) -> None:
        """Connect to the remaining processes, and continue from the last evaluation."""
        network, group = self._network, self._network.group
        lost = network.reconnect(self._stepper.t, self._on_failure)
        self._resume = group.resume
        for q, reason in lost.items():
            step = max(self._stepper.t, self._resume)
            self.lost.append(
                {"process": q, "workers": list(network.shares[q]), "step": step, "how": reason}
            )
            if group.me == group.leader:
                log.warning("%s %s: continuing without it", network.describe(q), reason)
        rows, _ = self._evaluations.read_rows()
        self._last = rows[-1].step if rows else -1
        # If that evaluation is the run's last, no step follows, even if no process got the answer.
        self._over |= bool(rows) and (self._last == self._end or rows[-1].diverged)
        if self._reported[0] <= self._last:
            self._recorded = self._reported[1]
        if any(self._last < mark <= self._resume for mark in self._due):
            self._due.add(self._resume)
        self._apart = self._spec.topology is None
