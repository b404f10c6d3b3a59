"""What a callback of ``fit`` sees of a run, and how it ends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import nn

from ngo.common.registry import UserError
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.training.run import Training


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
    _training: Training = field(repr=False)
    _made: Callable[[nn.Module], nn.Module] = field(repr=False)

    @classmethod
    def of(
        cls, training: Training, made: Callable[[nn.Module], nn.Module], *, evaluated: bool
    ) -> RunState:
        """The state of ``training`` now; ``made`` copies a module."""
        row = asdict(training.rows[-1]) if evaluated else None
        return cls(training.step, training.steps, training.epoch, row, training, made)

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

    def _current(self) -> Training:
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
