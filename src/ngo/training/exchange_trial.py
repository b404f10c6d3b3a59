"""A trial of a user's method before its run: it has to count what workers receive, and no more.

The updates up to the first exchange are repeated on copies, with the rows of all workers but one
changed. If that one's rows change, it has received rows of others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ngo.common.registries import METHODS
from ngo.common.seeding import torch_stream
from ngo.gossip.exchange import Network
from ngo.gossip.step import Step
from ngo.training.global_state import restored_streams
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper, named, own_parts
from verdicts.registry import UserError

#: The most steps that are tried, and the most numbers of a matrix: larger ones are not tried.
STEPS, NUMBERS = 100, 100_000_000

#: How far others' rows are moved from the worker's: near and far, as a threshold may skip some.
SIZES = (1e3, -1e3, 0.01, -0.01)

EXCHANGES = ("index", "mean", "mix", "neighbours", "pull", "relay", "send", "swap")

Rows = list[torch.Tensor]

#: A call of a network: its name, whether it counted, and copies of its rows and of its result.
Call = tuple[str, bool, Rows, Any]

# The runs that this process has tried, but for their seeds, with their methods' functions.
_tried: set[Hashable] = set()


class TriedNetwork:
    """A network whose exchanges are made by ``call(exchange, *arguments)``."""

    W = property(lambda self: self.real.W, lambda self, W: setattr(self.real, "W", W))

    def __init__(self, like: Network, call: Callable[..., Any]) -> None:
        self.real, self._call = Network(), call
        self.real.directed, self.real.byzantine = like.directed, like.byzantine
        self.real.worker_shares = like.worker_shares

    def __getattr__(self, name: str) -> Any:
        known = getattr(self.real, name)
        return partial(self._call, known) if name in EXCHANGES else known


class Trial:
    """The updates of a run up to the first exchange, as often as they are repeated."""

    def __init__(self, stepper: Stepper) -> None:
        X = stepper.population.X
        stream = torch_stream(0, "trial", None, X.device)
        self._random = partial(torch.rand, X.shape, generator=stream, device=X.device)
        self._stepper, self._steps = stepper, min(STEPS, stepper.steps)
        self._worker = stepper.honest // 2  # whose rows are compared
        self._start = [X + self._random() / 10, self._random() - 0.5]
        self._calls: list[Call] = []
        self.network, self._calls, self._end = self._repeated()
        self._steps = self._ended

    def _repeated(
        self, live: Sequence[int] = (), columns: Any = True, size: float = 0, steps: int = 0
    ) -> tuple[TriedNetwork, list[Call], Rows]:
        """Repeat the updates while other workers' rows are changed by ``size``.

        Returns the network, the calls, and the worker's rows at the end and at calls.

        A call gives the worker what it got in the first repetition, so that no change reaches it
        there. Calls in ``live`` exchange anew. If there are any, others' rows change as they enter
        these calls, in ``columns``; else they change at the start.
        """
        stepper, calls, matrices = self._stepper, list[Call](), dict[str, torch.Tensor]()
        sent: Rows = []

        def call(exchange: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
            given = (*arguments, *how.values())
            rows = [each for each in given if isinstance(each, torch.Tensor) and len(each)]
            k, messages = len(calls), network.real.messages
            if exchange.__name__ != "send":  # whose payloads nobody reads in one process
                sent.extend(each[self._worker].clone() for each in rows if len(each) == len(X))
            if k in live and size:
                rows[-1].copy_(self._changed(rows[-1], size, columns))
            if k in live or k >= len(self._calls):
                result = exchange(*arguments, **how)
            else:
                result = self._handed_out(self._calls[k], rows)
            counted = network.real.messages > messages
            calls.append((exchange.__name__, counted, deepcopy(rows), deepcopy(result)))
            return result

        network = TriedNetwork(stepper.network, call)
        X, G = (self._changed(rows, 0 if live else size) for rows in self._start)
        before, stepper.warned = stepper.state_dict(), True
        with restored_streams():
            stepper.batches.rows()  # a method may ask for the samples of the step
            for _ in range(steps or self._steps):
                network.real.set_matrix(stepper.next_matrix())
                stepper.take(X, G.clone(), network, matrices)
                if network.real.messages:
                    break
        self._ended, stepper.warned = stepper.t, False
        Stepper.load_state_dict(stepper, before)
        rows = [each[self._worker] for each in (X, *matrices.values()) if len(each) == len(X)]
        return network, calls, rows + sent

    def _handed_out(self, call: Call, rows: Rows) -> Any:
        """What the worker got in a call: its result, and its rows after it."""
        _, _, kept, result = call
        for each, before in zip(rows, kept, strict=True):
            own = self._worker if len(each) == len(self._start[0]) else slice(None)
            each[own] = before[own]
        return deepcopy(result)

    def _changed(self, rows: torch.Tensor, size: float, columns: Any = True) -> torch.Tensor:
        """A copy, in which others have rows at this distance from the worker's; 0: their own."""
        if size == 0:
            return rows.clone()
        new = rows[self._worker] + size * (0.5 + self._random())
        new[self._worker] = rows[self._worker]
        return torch.where(torch.as_tensor(columns, device=rows.device), new, rows)

    def unused(self) -> str | None:
        """The numbers of a call that counts whole rows that do not reach the worker, in words."""
        for k, (name, counted, rows, _) in enumerate(self._calls):
            if counted and name != "send" and rows[-1].shape == self._start[0].shape:
                none = ~self.reached([k])
                if 0 < none.sum() < len(none) and not self.reached([k], none).any():
                    return f"{int(none.sum()):,} of the {len(none):,} numbers that {name} sends"
        return None

    def reached(self, live: Sequence[int] = (), columns: Any = True) -> torch.Tensor:
        """Which of the worker's numbers ``[d]`` change when others' rows do.

        Without ``live``, no call passes a change on: what changes was read outside of all calls.
        With it, these calls do, and only ``columns`` of the rows that enter them are changed.
        """
        before = self._repeated(live)[-1] if live else self._end
        reached = torch.zeros_like(self._end[0], dtype=torch.bool)
        as_it_is = live or range(len(self._calls))  # shows what a method has kept elsewhere
        for which, size in [*((live, size) for size in SIZES), (as_it_is, 0.0)]:
            if size == 0:  # after steps from other states: what is kept elsewhere is other numbers
                calls, self._calls = self._calls, []  # nothing is handed out
                for each in SIZES:
                    self._repeated(size=each, steps=1)
                self._calls = calls
            _, _, end = self._repeated(which, columns, size)
            for now, then in zip(end, before, strict=False):  # calls may depend on what is read
                differ = ~torch.isclose(now, then, equal_nan=True)
                reached |= differ if len(now) == len(reached) else differ.any()
        return reached

    def descends(self) -> bool:
        """Whether an update is the same after a half step that workers took before it."""
        stepper, ends, before = self._stepper, list[Rows](), self._stepper.state_dict()
        W = stepper.next_matrix()
        for taken in (False, True):
            (X, G), matrices = (rows.clone() for rows in self._start), dict[str, torch.Tensor]()
            network = TriedNetwork(stepper.network, operator.call)
            network.real.set_matrix(W)
            take = partial(stepper.take, network=network, matrices=matrices, t=1)
            if taken:
                take(X, G, update=Step.descend)
                G.fill_(torch.nan)  # it is not known then
            take(X, G, descended=taken)
            ends.append([X, *(matrices[name] for name in sorted(matrices))])
        Stepper.load_state_dict(stepper, before)
        pairs = zip(*ends, strict=True)
        return all(torch.allclose(one, other, equal_nan=True) for one, other in pairs)


def try_exchanges(spec: RunSpec, stepper: Stepper) -> None:
    """Raise a UserError if a method of the user's reads rows of others that are not counted, or
    counts numbers that reach nobody. Each is tried once in a process.
    """
    n, d = stepper.population.X.shape
    key = replace(spec, seed=0), METHODS[spec.method].update
    own = own_parts(spec)
    if key in _tried or not own or not 1 < n == spec.workers or n * d > NUMBERS:
        return
    _tried.add(key)
    wrong, trial = None, Trial(stepper)
    if trial.reached().any():
        wrong = (
            "reads rows of other workers that step.network has not handed out, or what it has kept "
            "outside of step.matrix"
        )
    elif unused := trial.unused():
        wrong = f"uses none of {unused}"
    elif METHODS[spec.method].descends and not trial.descends():
        raise UserError(
            f"method: {spec.method!r} is no half step and then the rest; with descends=True it "
            f"must begin with step.descend() without arguments, and not read step.G."
        )
    if wrong:
        counted = trial.network.real
        blamed = ["method"] if "method" in own else own
        raise UserError(
            f"{named(spec, blamed)} {wrong}, and its first exchange counts {counted.messages:,} "
            f"messages with {counted.bytes_sent:,} bytes; send what is read, and only that, by "
            f"step.network.neighbours(rows), mix(rows) or mean(rows)."
        )
