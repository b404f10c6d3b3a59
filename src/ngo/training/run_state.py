"""What a callback of ``fit`` sees of a run, and how a callback ends it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import nn

from ngo.common.registry import UserError
from ngo.gossip.consensus import synchronization_index
from ngo.training.checkpoint import State
from ngo.training.global_state import set_stream_states, stream_states
from ngo.training.loop import Training


@dataclass(frozen=True)
class RunState:
    """A run between two steps. Its models can be had until the callback returns."""

    #: The number of steps taken.
    step: int
    #: The number of steps of the whole run.
    steps: int
    #: The passes over all workers' samples.
    epoch: float
    #: The evaluation at this step: a copy of a row of ``Fit.metrics``, without the fields of the
    #: run. None in ``on_step``.
    metrics: Mapping[str, Any] | None
    _training: OwnTraining = field(repr=False)
    _made: Callable[[nn.Module], nn.Module] = field(repr=False)

    @property
    def train_loss(self) -> float:
        """The workers' mean loss on their batches in the last step; NaN before the first."""
        return self._current().last_loss

    @property
    def V(self) -> float:
        """The synchronization index: the sum of squared distances of workers from their mean."""
        return float(synchronization_index(self._current().population.honest))

    def consensus(self) -> nn.Module:
        """A copy of the module with the mean of the workers' parameters, in eval mode."""
        return self._made(self._current().population.models()[0])

    def worker(self, i: int) -> nn.Module:
        """A copy of the module of worker ``i``, in eval mode."""
        modules = self._current().population.modules
        if not isinstance(i, int) or not 0 <= i < len(modules):
            raise UserError(f"worker: {i!r} is not a worker; they are 0 to {len(modules) - 1}.")
        return self._made(modules[i])

    def _current(self) -> OwnTraining:
        if self._training.step != self.step:
            raise UserError(
                f"the run has gone on from step {self.step} to {self._training.step}; ask for "
                f"models within the callback."
            )
        return self._training


#: A function that ``fit`` calls. What it returns is ignored; ``raise StopIteration`` ends the run.
Callback = Callable[[RunState], object]


class Ended(Exception):
    """A callback has ended the run."""


class OwnTraining(Training):
    """A run of ``fit``. A checkpoint also has global random streams, if the module ``draws``."""

    draws = False
    _last: torch.Tensor | None = None  # the losses of the step before the last evaluation

    @property
    def last_loss(self) -> float:
        """The mean loss of the last step's batches; NaN before the first step."""
        losses = self._losses[-1] if self._losses else self._last
        return math.nan if losses is None else float(losses.double().mean())

    def evaluate_here(self) -> None:
        """Evaluate after the last step, unless that is done."""
        if not self.rows or self.rows[-1].step != self.step:
            self._evaluate()

    def _evaluate(self) -> None:
        self._last = self._losses[-1] if self._losses else None
        super()._evaluate()

    def state(self, made: Callable[[nn.Module], nn.Module], *, evaluated: bool) -> RunState:
        """What a callback sees; ``made`` copies a module."""
        row = asdict(self.rows[-1]) if evaluated else None
        epoch = self.stepper.samples / self._problem.owned
        return RunState(self.step, self.steps, epoch, row, self, made)

    def state_dict(self) -> State:
        """See ``Training``."""
        return super().state_dict() | ({"streams": stream_states()} if self.draws else {})

    def load_state_dict(self, state: State) -> None:
        """See ``Training``."""
        super().load_state_dict(state)
        if self.draws:
            set_stream_states(state["streams"])
