"""The steps of all workers together, in virtual time: each waits for its neighbours' messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngo.training.stepper import Stepper
from ngo.training.virtual.waiting_times import WaitingTimes

if TYPE_CHECKING:
    from ngo.training.checkpoint import State
    from ngo.training.problem import Problem
    from ngo.training.spec import RunSpec


class WaitingStepper(Stepper):
    """The steps of a run without time, and when they end.

    A worker's step ends when its gradient is there and all messages of its neighbours' same steps
    have arrived (for delay τ, of the steps τ before). Messages queue as ``Wires`` has it, but for
    one thing: a receiver takes those of an earlier step first. A worker that is away in a step, by
    ``absence``, takes no time for it.
    """

    def __init__(self, spec: RunSpec, problem: Problem, **how: Any) -> None:
        super().__init__(spec, problem, **how)
        self._times = WaitingTimes(spec)

    def spent(self) -> dict[str, float]:
        """Virtual seconds until the last worker has taken the step, and joules."""
        return {"virtual_seconds": float(self._times.done.max()), "joules": self._energy()}

    def update(self, *, alone: bool = False) -> None:
        """The second half of the step, and its time."""
        network = self.network
        messages, sent = network.messages, network.bytes_sent
        super().update(alone=alone)
        messages, sent = network.messages - messages, network.bytes_sent - sent
        self._times.step(self._W, self._absent, messages, sent)

    def state_dict(self) -> State:
        """Also when the workers have ended their steps, and what is on its way."""
        return {**super().state_dict(), "times": self._times.state_dict()}

    def load_state_dict(self, state: State) -> None:
        """Restore from ``state``."""
        super().load_state_dict(state)
        self._times.load_state_dict(state["times"])
