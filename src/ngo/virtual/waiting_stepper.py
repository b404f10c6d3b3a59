"""The steps of all workers together, in virtual time: each waits for its neighbours' messages."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from ngo.common.lazy import np, torch
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.training.clocks import CHURN, LINKS, SPEEDS, Presence
from ngo.training.learning_problem import Problem
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper
from verdicts.registry import UserError


class WaitingTimes:
    """The ends of the last step, worker by worker: ``done`` ``[n]``, in virtual seconds."""

    def __init__(self, run: Any) -> None:
        n = run.workers
        self._seconds = SPEEDS[run.speed].of(run)
        self._presence = Presence(CHURN[run.churn].of(run))
        self._link = LINKS[run.links].of(run)
        self._delay = run.delay or 0
        self.done = np.zeros(n)
        # When each worker's two sides, for sending and for receiving, are free again.
        self._out, self._in = np.zeros(n), np.zeros(n)
        # When each worker has the messages of the last exchanges.
        self._received: deque[np.ndarray] = deque(maxlen=self._delay + 1)
        self._steps = 0

    def step(self, W: MixingMatrix | None, absent: list[int], messages: int, sent: int) -> None:
        """Take a step with mixing matrix ``W``; None: the workers meet at a server.

        All workers sent so many messages, and so many bytes, which they share equally.
        """
        self._steps += 1
        half = np.empty_like(self.done)
        for i, start in enumerate(self.done.tolist()):
            half[i] = self._presence.end(i, start, self._seconds[i](start))
        half[absent] = self.done[absent]
        if math.isinf(half.max()):
            leaves = f"worker {int(half.argmax())} leaves for good"
            fault = f"{leaves}, and with clock 'waiting' the others wait for it"
            raise UserError(f"churn: {fault}; it has to come back, or clock be asynchronous.")
        self.done = half
        if not messages:
            return
        if W is None:
            self.done = self._at_server(half, sent / messages)
            return
        receivers, senders = W.receivers.numpy(), W.senders.numpy()
        order = np.lexsort((receivers, senders))
        count = len(order)
        arrival = self._arrivals(senders[order], receivers[order], messages / count, sent / count)
        received = np.full(len(half), -math.inf)
        np.maximum.at(received, receivers[order], arrival)
        self._received.append(received)
        if len(self._received) > self._delay:
            self.done = np.maximum(half, self._received[0])

    def _costs(self, senders: np.ndarray, receivers: np.ndarray, size: float) -> np.ndarray:
        """Latency and transfer ``[2, messages]`` of messages of ``size`` bytes that leave now."""
        times = self.done[senders].tolist()
        messages = zip(senders.tolist(), receivers.tolist(), times, strict=True)
        return np.array([self._link(*message) for message in messages]).T * [[1.0], [size]]

    def _arrivals(
        self, senders: np.ndarray, receivers: np.ndarray, messages: float, size: float
    ) -> np.ndarray:
        """When what crosses each edge, in the order of senders, has arrived.

        So many messages cross an edge, one after another, of so many bytes together.
        """
        latency, transfer = self._costs(senders, receivers, size)
        ready = np.maximum(self.done, self._out)[senders]
        if not transfer.any():
            return self.done[senders] + messages * latency
        ends = ready + _sums(transfer, senders)
        np.maximum.at(self._out, senders, ends)
        begin = ends - transfer + messages * latency
        order = np.lexsort((begin, receivers))
        arrival = np.empty_like(begin)
        arrival[order] = _queued(
            np.maximum(begin, self._in[receivers])[order], transfer[order], receivers[order]
        )
        np.maximum.at(self._in, receivers, arrival)
        return arrival

    def _at_server(self, half: np.ndarray, size: float) -> np.ndarray:
        """All workers send to a server, whose link carries one message at a time, to it and back.

        The link of worker i to the server is that of i to itself.
        """
        workers = np.arange(len(half))
        latency, transfer = self._costs(workers, workers, size)
        order = np.argsort(half + latency, kind="stable")
        one = np.zeros_like(workers)
        all_there = _queued((half + latency)[order], transfer[order], one)[-1]
        return all_there + np.cumsum(transfer) + latency

    def state_dict(self) -> dict[str, Any]:
        """All that later times depend on."""
        arrays = {"done": self.done, "out": self._out, "in": self._in}
        kept = {name: torch.tensor(array) for name, array in arrays.items()}
        return {**kept, "received": list(map(torch.tensor, self._received)), "steps": self._steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore from ``state``: speeds that are drawn are drawn again."""
        self.done, self._out, self._in = (state[name].numpy() for name in ("done", "out", "in"))
        self._received.extend(times.numpy() for times in state["received"])
        self._steps = state["steps"]
        for seconds in self._seconds:
            for _ in range(self._steps):
                seconds(0.0)


def _sums(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The running sums of each group's values; groups are sorted."""
    total = np.cumsum(values)
    first = np.searchsorted(group, group)
    return total - (total - values)[first]


def _queued(begin: np.ndarray, transfer: np.ndarray, group: np.ndarray) -> np.ndarray:
    """When each message is through its group's queue, one after another; groups are sorted."""
    sums = _sums(transfer, group)
    place = np.arange(len(group)) - np.searchsorted(group, group)
    rows = np.unique(group, return_inverse=True)[1]
    free = np.full((rows.max() + 1, place.max() + 1), -math.inf)
    free[rows, place] = begin - (sums - transfer)
    return sums + np.maximum.accumulate(free, axis=1)[rows, place]


class WaitingStepper(Stepper):
    """The steps of a run without time, and when they end.

    A worker's step ends when its gradient is there and all messages of its neighbours' same steps
    have arrived (for delay τ, of the steps τ before). Messages queue as ``Wires`` has it, but for
    one thing: a receiver takes those of an earlier step first. A worker that is away in a step, by
    ``absence``, takes no time for it.
    """

    def __init__(self, spec: RunSpec, problem: Problem, **how: Any) -> None:
        super().__init__(spec, problem, **how)
        self._times = self._parts["times"] = WaitingTimes(spec)

    def spent(self) -> dict[str, Any]:
        """Virtual seconds until the last worker has taken the step, and joules."""
        return {"virtual_seconds": float(self._times.done.max()), "joules": self._energy()}

    def update(self) -> None:
        """The second half of the step, and its time."""
        network = self.network
        messages, sent = network.messages, network.bytes_sent
        super().update()
        messages, sent = network.messages - messages, network.bytes_sent - sent
        self._times.step(self._W, self._absent, messages, sent)
