"""Steps that no worker waits for, in virtual time."""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from ngo.common.lazy import Tensor, np, torch
from ngo.common.registries import METHODS
from ngo.gossip.exchange import Network, Pulls, check_rows
from ngo.gossip.gossip_step import mix
from ngo.gossip.method import sent
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native.threads import Map
from ngo.training.checkpoint import State
from ngo.training.learning_problem import Problem
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper
from ngo.virtual.event_simulation import Arrangement, EventSimulation, Graphs
from verdicts.registry import UserError


class VersionNetwork(Network):
    """Sent rows are kept in slots, from which later steps read them.

    Messages are counted by the simulation.
    """

    def __init__(self, X: Tensor, spread: Map) -> None:
        """``X`` are all workers' rows, which change when workers meet."""
        super().__init__(spread)
        self._X = X
        self.slots = X[:0]
        self._now: tuple[Arrangement, np.ndarray, np.ndarray] | None = None

    def begin(self, arranged: Arrangement, steps: np.ndarray, used: np.ndarray) -> None:
        """The next step is that of these ``steps``, which use the messages ``used``."""
        self._now = arranged, steps, used

    def end(self) -> None:
        """The steps are over: a UserError if they have not sent what others use."""
        if self._now is not None and (self._now[0].slot[self._now[1]] >= 0).any():
            raise self._misses()
        self._now = None

    def pull(
        self, X: Tensor, step: Pulls, at: Tensor | None = None, theirs: Tensor | None = None
    ) -> None:
        """Each row is pulled by the models that it uses. Those do not move."""
        self.refuse_directed()
        W, _, i, slots, weights = self._sent(X if at is None else at)
        if W is not None:
            step(X, W, at=at, out=X, spread=self._spread)
        elif len(i):
            used, places = slots.unique(return_inverse=True)
            k, i, j = len(X), i.cpu(), len(X) + places.cpu()
            ends = torch.cat([i, j]), torch.cat([j, i])
            own = torch.zeros(k + len(used))  # which no pull reads
            W = MixingMatrix(len(own), *ends, weights.repeat(2), own)
            theirs = self.slots[used]
            both, seen = torch.cat([X, theirs]), None if at is None else torch.cat([at, theirs])
            X.copy_(step(both, W, at=seen, out=both, spread=self._spread)[:k])

    def mix(self, rows: Tensor, gamma: float = 1.0) -> None:
        """R ← (1 − γ) R + γ S, with the sums S of own shares and of the messages used."""
        W, own, users, slots, weights = self._sent(rows)
        if W is not None:
            mix(rows, W, gamma, spread=self._spread)
            return
        rows *= ((1 - gamma) + gamma * own).to(rows)[:, None]
        rows.index_add_(0, users, self.slots[slots] * (gamma * weights).to(rows)[:, None])

    def average(self, rows: Tensor) -> None:
        """Each row and that of its partner become their mean."""
        arranged, steps, _ = self._taken()
        partners = arranged.partner[steps]
        meeting, partners = np.flatnonzero(partners >= 0), partners[partners >= 0]
        means = (rows[meeting] + self._X[partners]) / 2
        rows[meeting] = means
        self._X[partners] = means

    def _sent(self, rows: Tensor) -> tuple[MixingMatrix | None, Tensor, Tensor, Tensor, Tensor]:
        """Keep the rows that others use; what these rows use.

        Returns the mixing matrix, if all workers step together; the weights of the rows themselves
        in sums; and for each message the row that uses it, its slot and its weight.
        """
        arranged, steps, used = self._taken()
        check_rows(rows, len(steps))
        if len(self.slots) < arranged.slots or self.slots.shape[1] != rows.shape[1]:
            before = self.slots
            self.slots = rows.new_zeros(max(arranged.slots, 2 * len(before)), rows.shape[1])
            if before.shape[1] == rows.shape[1]:
                self.slots[: len(before)] = before
        kept = np.flatnonzero(arranged.slot[steps] >= 0)
        users = np.searchsorted(arranged.worker[steps], arranged.worker[arranged.user[used]])
        places = (arranged.slot[steps][kept], kept, users, arranged.source[used])
        to, kept_rows, users, slots = (torch.from_numpy(each).to(rows.device) for each in places)
        if len(kept):
            self.slots.index_copy_(0, to, rows[kept_rows])
        whole, own = arranged.whole[steps[0]], torch.from_numpy(arranged.self_weights[steps])
        W = arranged.matrices[whole] if whole >= 0 else None
        return W, own, users, slots, torch.from_numpy(arranged.weight[used])

    def _taken(self) -> tuple[Arrangement, np.ndarray, np.ndarray]:
        """The steps of now, and what they use, once."""
        if (now := self._now) is None:
            raise self._misses()
        self._now = None
        return now

    def mean(self, rows: Tensor) -> Tensor:
        """Refused, as is each operation that needs all workers, or every message."""
        raise self._misses()

    index = send = swap = mean  # type: ignore[assignment]

    def _misses(self) -> UserError:
        fault = "a method that exchanges other than once in a step, in every local_steps-th one"
        advice = "its declaration must not say asynchronous=True"
        return UserError(f"clock: 'asynchronous' is not possible with {fault}; {advice}.")


# The steps of all workers together that are computed between two known states, at most: with more,
# batches are larger, and more sent models are kept.
AHEAD = 8


class AsynchronousStepper(Stepper):
    """The state of a run between two of its ``stops``.

    Step t of the run ends when all n workers together have taken t·n steps, some of them more than
    others. Steps that end at that very moment belong to it.
    """

    stackable = False

    def __init__(self, spec: RunSpec, problem: Problem, stops: Iterable[int], **how: Any) -> None:
        super().__init__(spec, problem, **how)
        X = self.population.X
        self._stops = sorted(stops)
        self._versions = VersionNetwork(X, self.population.spread)
        self.connect(self._versions)
        self._size = sum(sent(self._fields, X.shape[1], X.element_size()) or ())
        arrivals = METHODS[spec.method].arrivals
        self._simulation = EventSimulation(spec, Graphs(spec, self.steps), arrivals, self._size)
        # The slot of each sent model that may still be used, by its step.
        self._slots: dict[int, int] = {}
        # The models at which workers' gradients are taken, where others change models meanwhile.
        self._started = X.clone() if self._simulation.arrivals == "pair" else None

    @property
    def taken(self) -> int:
        """The steps that all workers together have ended."""
        return self._simulation.ended

    def spent(self) -> dict[str, Any]:
        """Virtual seconds up to the last end of a step, and joules."""
        return {"virtual_seconds": self._simulation.now, "joules": self._energy()}

    def advance(self) -> Tensor:
        """Take the steps up to the next stop; the losses ``[steps]`` of all of them."""
        arranged = self._next()
        self._versions.messages = self._simulation.wires.messages
        self._versions.bytes_sent = self._versions.messages * self._size
        losses = self.population.X.new_zeros(len(arranged.worker))
        for gradients, steps, used in arranged.batches():
            if len(gradients):
                rows = torch.from_numpy(gradients).to(losses.device)
                losses[rows] = self._gradients(arranged.worker[gradients])
            # A step knows its number: only those of one number are taken at once.
            t, of_user = arranged.t[steps], arranged.t[arranged.user[used]]
            for number in np.unique(t):
                self._update(arranged, steps[t == number], used[of_user == number])
        return losses

    def _next(self) -> Arrangement:
        """The steps up to the next stop, which are then the last ones."""
        k = bisect_right(self._stops, self.t)
        until = min([self.t + AHEAD, *self._stops[k : k + 1]])
        # Its many small objects have no cycles; a collection would look at all workers' modules.
        with ExitStack() as stack:
            if gc.isenabled():
                gc.disable()
                stack.callback(gc.enable)
            window = self._simulation.window(until * self.population.n)
            arranged = Arrangement(window, self._slots, self._simulation.live())
        self._slots, self.t = arranged.slots_at_end, until
        return arranged

    def _gradients(self, rows: np.ndarray) -> Tensor:
        """The gradients of these workers' next steps; their losses."""
        X, started = self.population.X, self._started
        self.batches.workers = None if len(rows) == len(X) else rows.tolist()
        if started is None:
            return self.population.gradients(self.batches)
        at = torch.from_numpy(rows).to(X.device)
        now = X[at]
        X[at] = started[at]
        losses = self.population.gradients(self.batches)
        X[at] = now
        return losses

    def _update(self, arranged: Arrangement, steps: np.ndarray, used: np.ndarray) -> None:
        """Complete steps of one number, which use these messages."""
        X, G, n = self.population.X, self.population.G, self.population.n
        network = self._versions
        at: Any = slice(None)
        matrices, created = self.matrices, {}
        if len(steps) < n:
            at = torch.from_numpy(arranged.worker[steps]).to(X.device)
            X, G = X.index_select(0, at), G.index_select(0, at)
            matrices = {name: rows[at] for name, rows in matrices.items()}

        def keep(rows: Tensor) -> None:
            created[id(rows)] = rows[0, 0].clone()

        network.begin(arranged, steps, used)
        self.take(X, G, network, matrices, keep, int(arranged.t[steps[0]]))
        network.end()
        if isinstance(at, slice):
            return
        self.population.X.index_copy_(0, at, X)
        if self._started is not None:
            self._started[at] = X
        for name, rows in matrices.items():
            if name not in self.matrices:
                self.matrices[name] = created[id(rows)].repeat(n, rows.shape[1])
            self.matrices[name][at] = rows

    def state_dict(self) -> State:
        """Also the kept models, in the order of their steps. The events follow from the run."""
        kept = {"sent": self._versions.slots[[slot for _, slot in sorted(self._slots.items())]]}
        if self._started is not None:
            kept["started"] = self._started
        return {**super().state_dict(), **kept}

    def load_state_dict(self, state: State) -> None:
        """Restore from ``state``. The events are simulated again, without models."""
        while self.t < state["step"]:
            arranged = self._next()
        super().load_state_dict(state)
        network, sent = self._versions, state["sent"].to(self.population.X)
        if len(sent):
            network.slots = sent.new_zeros(arranged.slots, sent.shape[1])
            network.slots[[slot for _, slot in sorted(self._slots.items())]] = sent
        if self._started is not None:
            self._started.copy_(state["started"])
