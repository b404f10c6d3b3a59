"""The updates of several runs as one: a step of the method on the rows of all their workers."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ngo.gossip.exchange import JointNetwork
from ngo.training.stepper import Stepper


class JointUpdate:
    """The update of runs that are ``Stepper.alike``, as often as it is called.

    ``X`` and ``G`` have the rows of all, one run's after another's. So have the method's matrices
    from now on; those of the runs are views.
    """

    def __init__(self, steppers: Sequence[Stepper], X: torch.Tensor, G: torch.Tensor) -> None:
        first = steppers[0]
        self._steppers, self._X, self._G = steppers, X, G
        self._network = JointNetwork(
            [stepper.network for stepper in steppers], first.population.spread
        )
        self._matrices = {
            name: torch.cat([stepper.matrices[name] for stepper in steppers])
            for name in first.matrices
        }
        self._share()

    def __call__(self) -> None:
        """Take the next update."""
        known = len(self._matrices)
        self._network.set_matrices([stepper.next_matrix() for stepper in self._steppers])
        self._steppers[0].take(self._X, self._G, self._network, self._matrices)
        if len(self._matrices) > known:
            self._share()
        for stepper in self._steppers:
            stepper.updated = True

    def _share(self) -> None:
        """Give each run its rows of the matrices."""
        for name, rows in self._matrices.items():
            parts = rows.chunk(len(self._steppers))
            for stepper, part in zip(self._steppers, parts, strict=True):
                stepper.matrices[name] = part
