"""The events of an asynchronous run: when workers end their steps, and which messages steps use.

Times do not depend on models, so they are simulated first. The models are then computed in batches
(``asynchronous_stepper``). For that, a step gets the number of the *round* in which its gradient is
computed together with others, and of the round and *turn* in which it is completed.

Steps that end at the same moment and have the same number take place together, as in a run in which
all workers step together. If their numbers differ, the lower one comes first.

A worker sends its messages one after another, at the full bandwidth of the link. A message occupies
the sender for bytes / bandwidth seconds, and the receiver for as long, later by the latency. So a
message that meets no other arrives after one transfer and the latency. At both ends, messages wait
for those before them.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, compress
from typing import Any, NamedTuple

from ngo.common.lazy import np
from ngo.common.registries import TOPOLOGIES
from ngo.common.seeding import numpy_stream, torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.schedule import ScheduledMixing, topologies
from ngo.training.clocks import CHURN, LINKS, SPEEDS, Presence
from ngo.training.spec import RunSpec
from verdicts.registry import UserError

# Draws of a stream at a time.
BLOCK = 256

#: Messages: (begin, number, transfer, sender, content), or (arrival, sender, content).
Queue = deque[tuple[Any, ...]]


class Wires:
    """All links of a run. Times passed to its functions must not decrease."""

    def __init__(self, run: Any, size: int, presence: Presence, *, replaces: bool) -> None:
        """A message has ``size`` bytes. With ``replaces``, a message that still waits at its sender
        is replaced by a newer one to the same worker.
        """
        self._link = LINKS[run.links].of(run)
        self._size, self._presence, self._replaces = size, presence, replaces
        self._loss = run.message_loss or 0.0
        self._chances = [_draws(run.seed, "message_loss", i) for i in range(run.workers)]
        # When each worker's side is free again.
        self._out, self._in = [0.0] * run.workers, [0.0] * run.workers
        # Messages that each worker will receive, by the time at which they begin to arrive; and
        # those whose time of arrival is known.
        self._coming: dict[int, Queue] = defaultdict(deque)
        self._arriving: dict[int, Queue] = defaultdict(deque)
        # The last message to a worker that may wait at its sender: when it leaves, its content.
        self._waiting: dict[tuple[int, int], tuple[float, list[Any]]] = {}
        self.messages = 0

    def _loses(self, sender: int) -> bool:
        """Whether the next message of a worker is lost."""
        return self._loss > 0 and next(self._chances[sender]) < self._loss

    def send(self, sender: int, receiver: int, now: float, *content: Any) -> None:
        """Send a message."""
        latency, per_byte = self._link(sender, receiver, now)
        start, transfer = now, per_byte * self._size
        if transfer:
            leaves, waiting = self._waiting.get((sender, receiver), (now, []))
            if self._replaces and leaves > now:
                waiting[:] = content
                return
            start = max(now, self._out[sender])
            self._out[sender] = start + transfer
        self.messages += 1
        if self._loses(sender):
            return
        kept = list(content)
        if transfer:
            self._waiting[sender, receiver] = start, kept
        insort(self._coming[receiver], (start + latency, self.messages, transfer, sender, kept))

    def received(self, worker: int, now: float) -> Iterator[tuple[int, list[Any]]]:
        """(sender, content) of what has arrived up to ``now``, since the last call."""
        coming, arriving = self._coming[worker], self._arriving[worker]
        while coming and coming[0][0] <= now:
            arrival, _, transfer, sender, content = coming.popleft()
            if transfer:
                arrival = self._in[worker] = max(arrival, self._in[worker]) + transfer
            arriving.append((arrival, sender, content))
        while arriving and arriving[0][0] <= now:
            arrival, sender, content = arriving.popleft()
            if self._presence.always or not self._presence.away(worker, arrival):
                yield sender, content

    def meet(self, i: int, j: int, now: float) -> tuple[float, bool]:
        """Two workers exchange a message each, at the same time: the end, and whether both arrived.

        It takes both sides of both workers.
        """
        latency, per_byte = self._link(i, j, now)
        start, transfer = now, per_byte * self._size
        if transfer:
            start = max(now, self._out[i], self._out[j])
            self._out[i] = self._out[j] = start + transfer
        self.messages += 2
        lost = [self._loses(i), self._loses(j)]  # each draws
        return start + transfer + latency, not any(lost)

    def live(self) -> Iterator[list[Any]]:
        """The contents of all messages on their way."""
        queues = chain(self._coming.values(), self._arriving.values())
        return (message[-1] for queue in queues for message in queue)


class Graph:
    """A mixing matrix by rows and by columns."""

    def __init__(self, W: MixingMatrix) -> None:
        self.W = W
        #: To whom each worker sends, and the weights at the receivers.
        self.out: list[list[tuple[int, float]]] = [[] for _ in range(W.n)]
        #: From whom each worker receives, and the weights.
        self.into: list[dict[int, float]] = [{} for _ in range(W.n)]
        #: The weights of the workers' own models.
        self.self_weights: list[float] = W.diagonal.tolist()
        edges = zip(W.receivers.tolist(), W.senders.tolist(), W.weights.tolist(), strict=True)
        for i, j, weight in edges:
            self.out[j].append((i, weight))
            self.into[i][j] = weight


class Graphs:
    """The graphs of a run, by the number of a worker's own step."""

    def __init__(self, spec: RunSpec, steps: int) -> None:
        first, *others = topologies(spec)
        entry = TOPOLOGIES[first]
        values = {name: getattr(spec, name) for name in entry.fields}
        self._period = None if others else entry.period(spec.workers, **values)
        self._mixing = ScheduledMixing(spec, steps, torch_stream(spec.seed, "graphs"))
        self._every = spec.local_steps or 1
        self._known: dict[int, Graph] = {}
        #: Whether there is one graph.
        self.constant = self._period == 1

    def at(self, t: int, steps_by: Sequence[int]) -> Graph:
        """The graph of a worker's step ``t``.

        ``steps_by`` says how many steps each worker has ended. Graphs without a period are made in
        order, and forgotten when no worker can ask for them any more.
        """
        if self._period is not None:
            k = (t // self._every) % self._period
            if k not in self._known:
                self._known[k] = Graph(self._mixing.at(t, k))
            return self._known[k]
        # One for each step, as in a run in which all step together.
        for step in range(max(self._known, default=-1) + 1, t + 1):
            self._known[step] = Graph(self._mixing.at(step, step // self._every))
        oldest = min(steps_by)
        self._known = {k: graph for k, graph in self._known.items() if k >= oldest}
        return self._known[t]


class Ended(NamedTuple):
    """A step that has ended."""

    worker: int
    #: The number of the step among those of its worker.
    t: int
    #: The round of its gradient; the round and the turn of its end.
    gradient: int
    round: int
    turn: int
    #: For steps that all workers take together, with all of their messages: the place of their
    #: mixing matrix in ``Window.matrices``; else -1.
    whole: int
    #: The weight of its worker's own row in a sum.
    self_weight: float
    #: The worker with which it averages; -1 without one.
    partner: int


#: A message that a step uses: the step, that which sent it, and the weight.
MESSAGE = [("user", "i8"), ("source", "i8"), ("weight", "f8")]


@dataclass
class Window:
    """Steps that end one after another, and the messages that they use.

    A step has a number in the run, ``first`` and those after it: the order of the ends, and of
    workers where ends are equal.
    """

    first: int
    steps: list[Ended] = field(default_factory=list)
    messages: list[tuple[int, int, float]] = field(default_factory=list)
    matrices: list[MixingMatrix] = field(default_factory=list)


class EventSimulation:
    """The events of a run in virtual time, window after window."""

    def __init__(self, spec: RunSpec, graphs: Graphs, arrivals: str, size: int) -> None:
        """A message has ``size`` bytes. ``arrivals`` are those of the method."""
        n = spec.workers
        self.graphs, self.arrivals = graphs, arrivals
        self._n, self._every = n, spec.local_steps or 1
        self._seconds = SPEEDS[spec.speed].of(spec)
        self._presence = Presence(CHURN[spec.churn].of(spec))
        self.wires = Wires(spec, size, self._presence, replaces=arrivals == "newest")
        # (time, number, worker, partner) of the end of a step; for ``pair`` first of its gradient,
        # with the partner -2.
        self._events: list[tuple[float, int, int, int]] = []
        # The newest message from each neighbour: the step that sent it.
        self._newest: list[dict[int, int]] = [{} for _ in range(n)]
        # Where all messages of a worker's step arrive together: its newest step that has arrived,
        # if any, and those on their way, with the times of arrival.
        self._sent: list[deque[tuple[float, int]]] = [deque() for _ in range(n)]
        self._latency: float = spec.latency or 0.0
        alike = (arrivals, spec.links) == ("newest", "uniform") and graphs.constant
        apart = spec.bandwidth or spec.slow_links or spec.message_loss
        self._together = alike and not apart and self._presence.always
        self._steps_by = [0] * n  # steps ended by each worker
        self._partners = [_draws(spec.seed, "partner", i) for i in range(n)]
        self.now, self.ended = 0.0, 0
        for i in range(n):
            self._begin(i, 0.0)

    def _begin(self, worker: int, start: float) -> None:
        end = self._presence.end(worker, start, self._seconds[worker](start))
        if end < math.inf:
            partner = -2 if self.arrivals == "pair" else -1
            heappush(self._events, (end, self._steps_by[worker], worker, partner))

    def window(self, until: int) -> Window:
        """The next steps, up to ``until`` since the start, and those that end with the last one."""
        window = Window(self.ended)
        # By worker: the round of its last step in this window, or that in which it was averaged.
        self._last = [-1] * self._n
        self._touched = [(-1, 0)] * self._n
        events = self._events
        while self.ended < until or (events and events[0][0] == self.now):
            if not events:
                raise UserError("churn: all workers are away, and none comes back.")
            self.now, t, worker, partner = heappop(events)
            if partner == -2:
                self._meet(worker, t)
                continue
            group = [worker]
            if self.arrivals != "pair":
                while events and events[0][0] == self.now and events[0][1] == t:
                    group.append(heappop(events)[2])
            self._end(group, t, partner, window)
            for i in group:
                self._steps_by[i] += 1
                self._begin(i, self.now)
        return window

    def live(self) -> set[int]:
        """The steps whose messages may still be used.

        They decide the slots, and so the order of sums: another set would change the bytes of runs.
        """
        newest = {source for by_sender in self._newest for source in by_sender.values()}
        newest |= {step for sent in self._sent for _, step in sent}
        return newest | {content[0] for content in self.wires.live()}

    def _end(self, group: list[int], t: int, partner: int, window: Window) -> None:
        """End the steps number ``t`` of a group of workers."""
        first = self.ended
        self.ended += len(group)
        count, gradients = len(group), [self._last[i] + 1 for i in group]
        at, turn, used, whole = max(gradients), 0, len(window.messages), -1
        shares = [1.0] * count
        if self.arrivals == "pair":
            at, turn = self._after([group[0], *([partner] if partner >= 0 else [])], at)
        elif (t + 1) % self._every == 0:
            graph = self.graphs.at(t, self._steps_by)
            shares = self._exchange(group, graph, first, window)
            sources = [source for _, source, _ in window.messages[used:]]
            # The round, ``at`` or a later one, and the turn after those of steps that sent these.
            sent = {source for source in sources if window.first <= source < first}
            before = (window.steps[source - window.first] for source in sent)
            at, turn = max([(at, 0), *((step.round, step.turn + 1) for step in before)])
            everything = (count, len(sources)) == (self._n, graph.W.edges)
            if everything and min(sources, default=first) >= first:
                whole = len(window.matrices)
                window.matrices.append(graph.W)
        for i, gradient, share in zip(group, gradients, shares, strict=True):
            self._last[i] = at
            window.steps.append(Ended(i, t, gradient, at, turn, whole, share, partner))

    def _exchange(self, group: list[int], graph: Graph, first: int, window: Window) -> list[float]:
        """Send the models of a group, and take what has arrived.

        Nothing is sent to a worker that is away: in a sum, its share stays with the sender. Returns
        the weights of the own rows.
        """
        shares = [graph.self_weights[i] for i in group]
        now, wires, away = self.now, self.wires, self._presence
        for k, i in enumerate(group, first):
            if self._together and graph.out[i]:
                self._sent[i].append((now + self._latency, k))
                wires.messages += len(graph.out[i])
                continue
            for j, weight in graph.out[i]:
                if away.always or not away.away(j, now):
                    wires.send(i, j, now, k, weight)
                elif self.arrivals == "all":
                    shares[k - first] += weight
        for k, i in enumerate(group, first):
            into, newest = graph.into[i], self._newest[i]
            arrived = () if self._together else wires.received(i, now)
            if self.arrivals == "all":
                used = [(content[0], content[1]) for _, content in arrived]
            else:
                for sender, (source, _) in arrived:
                    if source > newest.get(sender, -1):
                        newest[sender] = source
                if self._together:
                    newest = {j: step for j in into if (step := self._newest_of(j)) is not None}
                used = [
                    (newest[j], weight)
                    for j, weight in into.items()
                    if j in newest and (away.always or not away.away(j, now))
                ]
                if len(used) < len(into):  # the others' weights go to the own row
                    missing = sum(into.values()) - sum(weight for _, weight in used)
                    shares[k - first] += missing
            window.messages += [(k, source, weight) for source, weight in used]
        return shares

    def _newest_of(self, worker: int) -> int | None:
        """The newest step of a worker that has arrived, where all its messages do so together."""
        sent = self._sent[worker]
        while len(sent) > 1 and sent[1][0] <= self.now:
            sent.popleft()
        return sent[0][1] if sent and sent[0][0] <= self.now else None

    def _meet(self, worker: int, t: int) -> None:
        """The gradient of a step is there: exchange models with a random neighbour."""
        near = self.graphs.at(t, self._steps_by).into[worker]
        there = [j for j in near if not self._presence.away(j, self.now)]
        partner, end = -1, self.now
        if there:
            chosen = there[int(next(self._partners[worker]) * len(there))]
            end, arrived = self.wires.meet(worker, chosen, self.now)
            partner = chosen if arrived else -1
        heappush(self._events, (end, t, worker, partner))

    def _after(self, workers: list[int], at: int) -> tuple[int, int]:
        """The first round and turn, from ``at`` on, after what happened to these workers."""
        place = max([(at, 0), *(self._touched[i] for i in workers)])
        for i in workers:
            self._touched[i] = place[0], place[1] + 1
        return place


def _draws(seed: int, name: str, worker: int) -> Iterator[float]:
    """Numbers from 0 to 1 of a worker's stream."""
    stream = numpy_stream(seed, name, worker)
    while True:
        yield from stream.random(BLOCK).tolist()


#: Steps that do not depend on each other, as places in their window, by worker: those whose
#: gradients are computed first, and those that are then completed; and the messages that the latter
#: use, as places among all.
Batch = tuple["np.ndarray", "np.ndarray", "np.ndarray"]


class Arrangement:
    """A window's steps as arrays, in batches. Slots keep sent models for later batches."""

    def __init__(self, window: Window, slots: Mapping[int, int], live: Iterable[int]) -> None:
        """``slots`` are those of steps before the window; ``live`` are the steps, of any window,
        whose messages may be used after it.
        """
        kinds = [(name, "f8" if name == "self_weight" else "i8") for name in Ended._fields]
        steps, messages = np.array(window.steps, kinds), np.array(window.messages, MESSAGE)
        self.worker, self.t, self.partner = steps["worker"], steps["t"], steps["partner"]
        self.whole, self.matrices = steps["whole"], window.matrices
        self.self_weights = steps["self_weight"]
        self.user, self.weight = messages["user"] - window.first, messages["weight"]
        turns = steps["turn"].max() + 1
        keys, batch = np.unique(steps["round"] * turns + steps["turn"], return_inverse=True)
        self._rounds = keys // turns
        self._gradients = _grouped(steps["gradient"], self.worker, self._rounds[-1] + 1)
        self._steps = _grouped(batch, self.worker, len(keys))
        self._used = _grouped(batch[self.user], np.arange(len(self.user)), len(keys))
        self._keep(window, batch, dict(slots), live)

    def _keep(
        self, window: Window, batch: np.ndarray, slots: dict[int, int], live: Iterable[int]
    ) -> None:
        """Give each sent model a slot from its ``batch`` to the last one that uses it."""
        never = len(self._steps) + 1
        last: dict[int, int] = {}
        sources = [source for _, source, _ in window.messages]
        apart = self.whole[self.user] < 0  # the others are used where they are
        batches = batch[self.user[apart]].tolist()
        for step, at in zip(compress(sources, apart), batches, strict=True):
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
        self.slot = np.full(len(self.worker), -1)
        self.slots = len(free) + len(slots)
        for b, steps in enumerate(self._steps):
            for k in steps.tolist():
                step = window.first + k
                if step in last:
                    if not free:
                        free.append(self.slots)
                        self.slots += 1
                    self.slot[k] = slots[step] = free.pop()
                    released[last[step]].append(step)
            free += [slots[step] for step in released[b]]
        #: The slots of the messages that steps use, by their places in ``user``.
        self.source = np.array([slots.get(step, -1) for step in sources], dtype=np.int64)
        self.slots_at_end = {step: slots[step] for step in released[never]}

    def batches(self) -> Iterator[Batch]:
        """The batches, in order."""
        before = -1
        for r, steps, used in zip(self._rounds.tolist(), self._steps, self._used, strict=True):
            yield self._gradients[r] if r > before else steps[:0], steps, used
            before = r


def _grouped(groups: np.ndarray, by: np.ndarray, count: int) -> list[np.ndarray]:
    """The places of the members of groups 0 to ``count`` − 1, each in the order of ``by``."""
    order = np.lexsort((by, groups))
    return np.split(order, np.searchsorted(groups[order], np.arange(1, count)))
