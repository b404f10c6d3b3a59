"""Cohorts: the workers of a round are rows, and the others are no more than their samples.

A server draws ``participants`` workers for each round: the steps up to an exchange. They start from
its model, and its next model is what the exchange gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ngo.common.seeding import numpy_stream, torch_stream
from ngo.gossip.exchange import Network
from ngo.gossip.step import Step
from ngo.native.card_streams import CardStreams
from ngo.native.threads import Map
from ngo.training.batches import BatchStream
from ngo.training.checkpoint import State
from ngo.training.learning_problem import Problem
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper


class CohortStepper(Stepper):
    """A step of the participants: row j of X is worker ``workers[j]`` until the round ends.

    Those of round k are drawn from the stream (seed, "participants", k). They start from the
    server's parameters and buffers, and their local rule from no memory; a worker's batches and
    dropout masks go on where its last round ended, but on a GPU masks have a stream for each round.
    After the exchange the rows are those from before it, and the server's model is the consensus
    model. A rule that follows a mean gradient, in a method without local steps, is the server's and
    keeps its memory, as outer optimizers do.
    """

    stackable = False

    def __init__(self, spec: RunSpec, problem: Problem, **how: Any) -> None:
        self._run, self._problem = spec, problem
        self._every = spec.local_steps or 1  # steps of a round
        # By worker, since it was first drawn: its batches, and its streams that have drawn.
        self._batches: dict[int, BatchStream] = {}
        self._drew: dict[str, dict[int, torch.Tensor]] = {"dropout": {}, "augmentation": {}}
        self._memory: set[str] = set()  # the names of the local rule's matrices
        first = self._drawn(0)
        own = replace(problem, **self._owned(first))
        super().__init__(replace(spec, workers=len(first)), own, workers=first, **how)
        self.honest = len(first)
        self.population.by_server = True
        self.population.average()
        self._exchange = _Exchange(self.population.X, self.population.spread)
        self.connect(self._exchange)
        self._restarts = "local_steps" in self._method.fields
        if self._restarts:
            self._rule = replace(self._rule, descend=partial(self._descend, self._rule.descend))
        self._seat(first)

    def _drawn(self, k: int) -> list[int]:
        """The participants of round ``k``, in order."""
        run = self._run
        stream = numpy_stream(run.seed, "participants", k)
        return sorted(stream.choice(run.workers, run.participants, replace=False).tolist())

    def _owned(self, workers: Sequence[int]) -> dict[str, Any]:
        """The samples of some workers, and what each of them counts for among these."""
        w = self._problem.shares
        w = None if w is None else w[list(workers)] / w[list(workers)].sum()
        return {"parts": [self._problem.parts[i] for i in workers], "shares": w}

    def _seat(self, workers: Sequence[int]) -> None:
        """Give the rows to these ``workers``, with their batches."""
        run, owned = self._run, self._owned(workers)
        for i, part in zip(workers, owned["parts"], strict=True):
            if i not in self._batches:
                stream = torch_stream(run.seed, "batches", i)
                self._batches[i] = BatchStream(part, run.batch_size, stream)
        self.workers, self.batches.streams = workers, [self._batches[i] for i in workers]
        self.population.shares = self.network.worker_shares = owned["shares"]

    def _begin(self) -> None:
        """Draw who takes part in the next round, and start them from the server's model."""
        self.batches.put_back()
        before, now = self.workers, self._drawn(self.t // self._every)
        self._seat(now)
        rows: dict[str, Any] = {"dropout": self.population.generators}
        rows["augmentation"] = self.batches.changes
        if self.population.noise.numel():
            rows["noise"] = CardStreams(self.population.noise)
        for name, streams in rows.items():
            if isinstance(streams, CardStreams):  # each round has its own
                key = f"{name} from {self.t}"
                streams.set_state(CardStreams.of(self._run.seed, key, now, streams.device).state)
                continue
            drew = self._drew[name]
            new = partial(torch_stream, self._run.seed, name, device=streams[0].device)
            for i, row in zip(before, streams, strict=True):
                if not torch.equal(state := row.get_state(), new(i).get_state()):
                    drew[i] = state
            for i, row in zip(now, streams, strict=True):
                row.set_state(drew[i] if i in drew else new(i).get_state())
        for name in self._memory:
            self.matrices.pop(name, None)
        self.population.restart()

    def _descend(self, descend: Callable[[Step], Any], step: Step) -> Any:
        """The half step by the local rule, whose matrices are its memory."""
        known = set(step.matrices)
        chain = descend(step)
        self._memory |= step.matrices.keys() - known
        return chain

    def gradients(self) -> torch.Tensor:
        """The first half of the step, at the start of a round by new participants."""
        if self.t % self._every == 0:
            self._begin()
        return super().gradients()

    def update(self) -> None:
        """The second half; at the end of a round the server takes the participants' new model."""
        super().update()
        if self.t % self._every == 0:
            self.population.average()
            self._exchange.restore()

    def _number(self, t: int) -> int:
        """Steps are counted from the start of the round, where a method has local steps."""
        return t % self._every if self._restarts else t

    def state_dict(self) -> State:
        """All that the next steps depend on: of workers, of those that ever took part."""
        return {
            **super().state_dict(),
            "workers": list(self.workers),
            "memory": sorted(self._memory),
            "batches_of": {i: stream.state_dict() for i, stream in self._batches.items()},
            "drew": self._drew,
        }

    def load_state_dict(self, state: State) -> None:
        """Restore from ``state``, which was made with the same backend."""
        self._memory, self._drew = set(state["memory"]), state["drew"]
        self._seat(list(state["batches_of"]))
        for i, stream in self._batches.items():
            stream.load_state_dict(state["batches_of"][i])
        self._seat(state["workers"])
        super().load_state_dict(state)


class _Exchange(Network):
    """A network that can give the workers ``X`` back from before the step's exchange."""

    def __init__(self, X: torch.Tensor, spread: Map) -> None:
        super().__init__(spread)
        self._X, self._before = X, X

    def mean(self, rows: torch.Tensor) -> torch.Tensor:
        self._keep(rows)
        return super().mean(rows)

    def pull(self, X: torch.Tensor, *given: Any, **more: Any) -> None:
        self._keep(X)
        super().pull(X, *given, **more)

    def _keep(self, rows: torch.Tensor) -> None:
        if rows is self._X:  # and no gradients
            self._before = rows.clone()

    def restore(self) -> None:
        """Give them back; nothing, if only gradients were exchanged."""
        if self._before is not self._X:
            self._X.copy_(self._before)
            self._before = self._X
