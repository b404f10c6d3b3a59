"""Draws from torch's global stream, which is a worker's own while it draws.

Else they would depend on the order in which threads take workers. Each pass of a worker has a
stream of its own, whose seed is drawn from the worker's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

#: Held while the global stream is a worker's.
DRAWING = RLock()


def stream_of_pass(generator: torch.Generator) -> torch.Generator:
    """A stream whose seed is drawn from the generator."""
    seed = torch.empty((), dtype=torch.int64, device=generator.device).random_(generator=generator)
    return torch.Generator(generator.device).manual_seed(int(seed))


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Within it, torch's global stream of the generator's device is the generator."""
    at = generator.device
    on_gpu = at.type == "cuda"
    stream = torch.cuda.default_generators[at.index or 0] if on_gpu else torch.default_generator
    with DRAWING:
        before = stream.get_state()
        stream.set_state(generator.get_state())
        try:
            yield
        finally:
            generator.set_state(stream.get_state())
            stream.set_state(before)


#: In the names of torch's functions that may draw, and of what those in Python call.
NAMES = re.compile(
    r"\brand|dropout|bernoulli|binomial|multinomial|normal_?\b|uniform|poisson\b|cauchy|geometric"
    r"|exponential|standard_gamma|dirichlet|rrelu|lstm|gru|rnn|attention"
)


@cache
def may_draw(function: Any) -> bool:
    """Whether a function of torch may draw, for example only with other arguments."""
    called = getattr(getattr(function, "__code__", None), "co_names", ())
    return NAMES.search(" ".join([getattr(function, "__name__", ""), *called])) is not None


class Functions(TorchFunctionMode):
    """Within it, torch's functions that draw do so from a generator, also in several threads.

    They are those that may draw by their names, and others, the ``found``: ``tries`` finds these.
    """

    def __init__(self, generator: torch.Generator, found: Any, *, tries: bool = False):
        super().__init__()
        self._generator, self._found, self._tries = generator, found, tries

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        if not (self._tries or may_draw(func) or func in self._found):
            return func(*args, **(kwargs or {}))
        before = self._generator.get_state() if self._tries else None
        with drawing_from(self._generator):
            output = func(*args, **(kwargs or {}))
        if before is not None and not torch.equal(self._generator.get_state(), before):
            self._found.add(func)
        return output
