"""What one process of a distributed run does: steps, evaluations, and going on after a loss."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import torch

from ngo import pool, training
from ngo.graphs import mixing_stream
from ngo.ledger import COUNTS, Ledger, pack
from ngo.network import Network
from ngo.pool import one_intra_op_thread
from ngo.population import Population
from ngo.processes import Lost
from ngo.protocols import PROTOCOLS, TOGETHER
from ngo.seeding import torch_stream
from ngo.shares import Share
from ngo.spec import RunSpec


class Participant:
    """One process's part of a run: its own workers, how far they are, and whom it has lost."""

    def __init__(
        self,
        spec: RunSpec,
        mine: Share,
        population: Population,
        ledger: Ledger,
        network: Network,
        on_failure: str,
    ) -> None:
        self._spec, self._mine, self._on_failure = spec, mine, on_failure
        self._population, self._ledger, self._network = population, ledger, network
        self._protocol = PROTOCOLS[spec.protocol]
        self._due = set(training.schedule(spec, mine.owned))
        self._end = max(self._due)
        streams = [
            training.BatchStream(part, spec.batch_size, torch_stream(spec.seed, "batches", i))
            for i, part in zip(network.own, mine.parts, strict=True)
        ]
        self._batches = training.Batches(population.task, mine.data, streams)
        self._mixing = (
            mixing_stream(spec.topology, spec.workers, spec.u, torch_stream(spec.seed, "graphs"))
            if self._protocol.decentralized
            else None
        )
        self._past: list[torch.Tensor] = []
        self._step = 0  # the steps done
        self._resume = 0  # the step from which all go on after a loss
        self._last = -1  # the step of the last row
        self._over = False  # whether that row is the run's last
        self._apart = False  # whether those who share one model may have parted
        self._total: Counter[str] = Counter()  # of COUNTS, since the start
        self._recorded: Counter[str] = Counter()  # the same, up to the last row
        self._reported = (0, self._recorded)  # and up to the last report, with its step
        self.lost: list[dict[str, object]] = []  # the processes lost on the way

    @one_intra_op_thread()
    def proceed(self, write: Callable[[], None]) -> None:
        """Train to the end, where the leader calls ``write``; nobody leaves before it has.

        When a process is lost, the others go on (``on_failure`` "drop") from the step of the one
        that is furthest; those behind take their steps up to it alone, without a pull. An
        evaluation that the loss broke is made there.
        """
        while True:
            try:
                while not self._over:
                    self._proceed()
                self._network.finish(self._ledger.record, write)
                return
            except Lost:
                pass  # connections close when nothing refers to their messages, as the error does
            if self._over and self._ledger.written:
                return
            self._recover()

    def _proceed(self) -> None:
        """The evaluation that is due, or else one step."""
        caught_up = self._step >= self._resume
        if self._apart and caught_up:
            X = self._population.X
            X.copy_(self._network.mean(X)[0])
            self._apart = False
        if self._last < self._step and caught_up and self._step in self._due:
            self._evaluate()
        else:
            self._advance(alone=not caught_up)

    def _advance(self, alone: bool) -> None:
        """One step of the own workers."""
        population, network, total = self._population, self._network, self._total
        losses = population.gradients(self._batches).double()
        total.update(loss=float(losses.sum()), losses=len(losses))
        total["samples"] += len(losses) * self._spec.batch_size
        W = network.present(next(self._mixing)) if self._mixing is not None else None
        # A step that breaks off in the exchange is done: it has no pull.
        network.step, self._step = self._step, self._step + 1
        with pool.using(population.spread):
            total["messages"] += self._protocol.step(
                network.step,
                population.X,
                population.G,
                torch.eye(len(losses), dtype=torch.float64) if alone else W,
                self._spec,
                self._past,
                network=TOGETHER if alone else network,
            )

    def _evaluate(self) -> None:
        """Report on the own workers; all reports together are a row."""
        t, network, sent = self._step, self._network, self._network.group.sent
        scores = self._population.evaluate(*self._mine.test)
        if t == self._end:
            network.settle()
        self._total.update(stale=sum(network.stale), pulls=len(network.stale))
        now = Counter(self._total)
        now["messages"] = network.messages(now["messages"])
        now.update(models=sent["gossip", "models"], bytes=sent["gossip", "bytes"])
        now["other"] = sent["reports", "bytes"] + sent["control", "bytes"]
        self._reported = (t, now)
        since = [now[name] - self._recorded[name] for name in COUNTS]
        report = pack(since, network.stale, scores, self._population)
        ends = network.conclude(t, report, self._ledger.record)
        network.stale.clear()
        self._recorded, self._last = now, t
        self._over = ends or t == self._end

    def _recover(self) -> None:
        """Go on with those that are left, from the last row."""
        network, group = self._network, self._network.group
        gone = network.recover(self._step, self._on_failure)
        self._resume = group.resume
        for q, how in gone.items():
            step = max(self._step, self._resume)
            self.lost.append(
                {"process": q, "workers": list(network.shares[q]), "step": step, "how": how}
            )
            if group.me == group.leader:
                print(f"{network.called(q)} {how}: on without it", file=sys.stderr)
        rows, _ = self._ledger.read()
        self._last = rows[-1].step if rows else -1
        # That row may be the run's last, though its answer came to none: no step follows it.
        self._over |= bool(rows) and (self._last == self._end or rows[-1].diverged)
        if self._reported[0] <= self._last:
            self._recorded = self._reported[1]
        if any(self._last < mark <= self._resume for mark in self._due):
            self._due.add(self._resume)
        self._apart = not self._protocol.decentralized
