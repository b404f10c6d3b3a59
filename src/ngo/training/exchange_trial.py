"""The trial of a user's method before its run: whether what others receive is what is counted.

The updates up to the first exchange are repeated on copies, with the rows of all but one worker
changed. Who then changes has received rows of others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

import torch

from ngo.common.registry import UserError
from ngo.common.seeding import torch_stream
from ngo.gossip.exchange import Network
from ngo.gossip.method import METHODS
from ngo.gossip.step import LOCAL_RULES
from ngo.training.global_state import restored_streams
from ngo.training.plugin_errors import own_entries
from ngo.training.spec import RunSpec
from ngo.training.stepper import Stepper

#: The most steps that are tried, and the most numbers of a matrix: larger ones are not tried.
STEPS, NUMBERS = 100, 100_000_000

#: How far others' rows are from the worker's: near and far, since thresholds keep some of them out.
SIZES = (1e3, -1e3, 0.01, -0.01)

EXCHANGES = ("index", "mean", "mix", "neighbours", "pull", "relay", "send", "swap")

Rows = list[torch.Tensor]

#: Makes call k of a network: ``exchange()`` changes ``rows`` and returns a result.
Instead = Callable[[int, Callable[[], Any], Rows], Any]

# The runs that this process has tried, but for their seeds, with their functions.
_tried: set[Hashable] = set()


class TriedNetwork:
    """A network that keeps its calls: the name, whether it counted, copies of rows and result."""

    W = property(lambda self: self.real.W, lambda self, W: setattr(self.real, "W", W))

    def __init__(self, like: Network, instead: Instead) -> None:
        self.real, self._instead = Network(), instead
        self.real.directed, self.real.liars = like.directed, like.liars
        self.calls: list[tuple[str, bool, Rows, Any]] = []

    def __getattr__(self, name: str) -> Any:
        known = getattr(self.real, name)
        return partial(self._call, known) if name in EXCHANGES else known

    def _call(self, exchange: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        given = (*arguments, *how.values())
        rows = [each for each in given if isinstance(each, torch.Tensor) and len(each)]
        messages = self.real.messages
        result = self._instead(len(self.calls), partial(exchange, *arguments, **how), rows)
        counted = self.real.messages > messages
        self.calls.append((exchange.__name__, counted, deepcopy(rows), deepcopy(result)))
        return result


class Trial:
    """The updates of a run up to the first exchange, as often as they are repeated."""

    def __init__(self, stepper: Stepper, worker: int) -> None:
        """Only what the ``worker`` gets is looked at."""
        X = stepper.population.X
        stream = torch_stream(0, "trial", None, X.device)
        self._random = partial(torch.rand, generator=stream, device=X.device)
        self._stepper, self._worker, self._steps = stepper, worker, min(STEPS, stepper.steps)
        self._start = [X + self._random(X.shape) / 10, self._random(X.shape) - 0.5]
        self.network, self._end = self._repeated(_as_it_is)

    def _repeated(self, instead: Instead, size: float = 0.0) -> tuple[TriedNetwork, Rows]:
        """The calls, and the rows of the worker at the end, with others changed at the start."""
        X, G = (self._changed(rows, size) for rows in self._start)
        matrices: dict[str, torch.Tensor] = {}
        with self._stepper.tried():
            network = TriedNetwork(self._stepper.network, instead)
            for t in range(self._steps):
                self._stepper.t = t
                network.real.set_matrix(self._stepper.next_matrix())
                self._stepper.take(X, G.clone(), network, matrices)
                if network.real.messages:
                    self._steps = t + 1
                    break
        return network, [
            rows[self._worker] for rows in (X, *matrices.values()) if len(rows) == len(X)
        ]

    def _changed(
        self, rows: torch.Tensor, size: float, columns: torch.Tensor | None = None
    ) -> torch.Tensor:
        """A copy, in which others have rows at this distance from the worker's; 0: their own."""
        if size == 0:
            return rows.clone()
        new = rows[self._worker] + size * (0.5 + self._random(rows.shape))
        new[self._worker] = rows[self._worker]
        return new if columns is None else torch.where(columns, new, rows)

    def reads_rows(self) -> bool:
        """Whether the worker's rows depend on rows that no call has handed out."""
        _, again = self._repeated(_as_it_is)
        ends = [self._repeated(self._handing(None), size)[1] for size in SIZES]
        differ = not all(_equal(end, self._end) for end in ends)
        return differ and _equal(again, self._end)  # what does not repeat itself tells nothing

    def unused(self) -> tuple[str, int] | None:
        """A call that counts whole rows, of which some numbers do not reach the worker; how many."""
        for k, (name, counted, rows, _) in enumerate(self.network.calls):
            if counted and name != "send" and rows[-1].shape == self._start[0].shape:
                none = ~self._reached(k, torch.ones_like(rows[-1][0], dtype=torch.bool))
                if 0 < none.sum() < len(none) and not self._reached(k, none).any():
                    return name, int(none.sum())
        return None

    def _reached(self, call: int, columns: torch.Tensor) -> torch.Tensor:
        """The numbers of the worker that change with these ``columns`` of others' rows in a call."""
        reached = torch.zeros_like(columns)
        _, before = self._repeated(self._handing(call))
        for size in SIZES:
            _, end = self._repeated(self._handing(call, columns, size))
            for a, b in zip(end, before, strict=True):
                differ = ~torch.isclose(a, b, rtol=0, atol=0, equal_nan=True)
                reached |= differ if len(a) == len(columns) else differ.any()
        return reached

    def _handing(
        self, live: int | None, columns: torch.Tensor | None = None, size: float = 0.0
    ) -> Instead:
        """Hand out to the worker what it got at first, but of call ``live`` what comes of others'
        changed columns.
        """

        def instead(k: int, exchange: Callable[[], Any], rows: Rows) -> Any:
            if k == live:
                rows[-1].copy_(self._changed(rows[-1], size, columns))
            if k == live or k >= len(self.network.calls):
                return exchange()
            _, _, kept, result = self.network.calls[k]
            for each, before in zip(rows, kept, strict=True):
                own = self._worker if len(each) == len(self._start[0]) else slice(None)
                each[own] = before[own]
            return deepcopy(result)

        return instead


def _as_it_is(k: int, exchange: Callable[[], Any], rows: Rows) -> Any:
    return exchange()


def _equal(first: Rows, second: Rows) -> bool:
    return all(torch.allclose(*pair, equal_nan=True) for pair in zip(first, second, strict=True))


def try_exchanges(spec: RunSpec, stepper: Stepper) -> None:
    """Raise a UserError if a method of the user's reads rows of others that are not counted, or
    counts numbers that reach nobody. Each is tried once in a process.
    """
    X, functions = stepper.population.X, (METHODS[spec.method].update, LOCAL_RULES[spec.local_rule])
    own = {"method", "local_rule"} & own_entries(spec).keys()
    tried = replace(spec, seed=0), *functions
    if tried in _tried or not own or not 1 < len(X) == spec.workers or X.numel() > NUMBERS:
        return
    _tried.add(tried)
    with restored_streams():
        trials = [Trial(stepper, worker) for worker in (0, stepper.honest - 1)]
        reads = any(trial.reads_rows() for trial in trials)
        unused = [trial.unused() for trial in trials]
    name, network = f"method: {spec.method!r}", trials[0].network.real
    counted = f"{network.messages:,} messages with {network.bytes_sent:,} bytes"
    if reads:
        raise UserError(
            f"{name} reads rows of other workers that step.network has not handed out, and only "
            f"{counted} are counted in its first exchange; take them from "
            f"step.network.neighbours(rows), mix(rows) or mean(rows)."
        )
    if all(unused):
        call, count = min(unused, key=itemgetter(1))
        raise UserError(
            f"{name} sends {X.shape[1]:,} numbers of each row by step.network.{call}, of which "
            f"{count:,} reach nobody, and {counted} are counted in its first exchange; send the "
            f"others alone, such as step.X[:, :k] by step.network.neighbours."
        )
