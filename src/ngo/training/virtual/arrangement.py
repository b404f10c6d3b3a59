"""The steps of a window in batches, and where the models that they send are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ngo.common.lazy import np
from ngo.training.virtual.schedule import Window


@dataclass(frozen=True)
class Batch:
    """Steps that do not depend on each other, as places in their window, by worker."""

    #: Steps whose gradients are computed first.
    gradients: np.ndarray
    #: Steps that are then completed, and the messages that they use, as places among all.
    steps: np.ndarray
    used: np.ndarray


class Arrangement:
    """A window's steps as arrays, in batches. Slots keep sent models for later batches."""

    def __init__(self, window: Window, slots: Mapping[int, int], live: Collection[int]) -> None:
        """``slots`` are those of steps before the window; ``live`` are the steps, of any window,
        whose messages may be used after it.
        """
        self.worker, self.t = np.array(window.worker), np.array(window.t)
        self.partner = np.array(window.partner)
        self.whole, self.matrices = np.array(window.whole), window.matrices
        self.own = np.array(window.own)
        self.user = np.array(window.user, dtype=np.int64) - window.first
        self.weight = np.array(window.weight, dtype=float)
        self._gradient, self._round = np.array(window.gradient), np.array(window.round)
        turns = max(window.turn) + 1
        keys, batch = np.unique(self._round * turns + window.turn, return_inverse=True)
        self._rounds = keys // turns
        self._order = np.lexsort((self.worker, batch))
        self._ends = np.searchsorted(batch[self._order], np.arange(len(keys) + 1))
        by_batch = batch[self.user]
        self._used = np.argsort(by_batch, kind="stable")
        self._used_ends = np.searchsorted(by_batch[self._used], np.arange(len(keys) + 1))
        self._keep(window, batch, dict(slots), live)

    def _keep(
        self, window: Window, batch: np.ndarray, slots: dict[int, int], live: Collection[int]
    ) -> None:
        """Give each sent model a slot from its batch to the last one that uses it."""
        steps, never = len(window), len(self._ends)
        last: dict[int, int] = {}
        apart = self.whole[self.user] < 0  # the others are used where they are
        source = np.array(window.source, dtype=np.int64)
        for step, at in zip(source[apart].tolist(), batch[self.user[apart]].tolist(), strict=True):
            if at > last.get(step, -1):
                last[step] = at
        last |= dict.fromkeys(live, never)
        released: list[list[int]] = [[] for _ in range(never + 1)]
        free = sorted(set(range(max(slots.values(), default=-1) + 1)) - set(slots.values()))
        for step, slot in slots.items():
            if step in last:
                released[last[step]].append(step)
            else:
                free.append(slot)
        #: The slot of each step's model; -1 if no other batch uses it. The number of all slots.
        self.slot = np.full(steps, -1)
        self.slots = len(free) + len(slots)
        for b in range(never - 1):
            for k in self._order[self._ends[b] : self._ends[b + 1]].tolist():
                step = window.first + k
                if step in last:
                    if not free:
                        free.append(self.slots)
                        self.slots += 1
                    self.slot[k] = slots[step] = free.pop()
                    released[last[step]].append(step)
            free += [slots[step] for step in released[b]]
        #: The slots of the messages that steps use, by their places in ``user``.
        self.source = np.array([slots.get(step, -1) for step in window.source], dtype=np.int64)
        self.slots_at_end = {step: slots[step] for step in released[never]}

    def batches(self) -> Iterator[Batch]:
        """The batches, in order."""
        before = -1
        by_worker = np.lexsort((self.worker, self._gradient))
        ends = np.searchsorted(self._gradient[by_worker], np.arange(self._rounds[-1] + 2))
        for b, r in enumerate(self._rounds.tolist()):
            gradients = by_worker[ends[r] : ends[r + 1]] if r > before else by_worker[:0]
            used = self._used[self._used_ends[b] : self._used_ends[b + 1]]
            yield Batch(gradients, self._order[self._ends[b] : self._ends[b + 1]], used)
            before = r
