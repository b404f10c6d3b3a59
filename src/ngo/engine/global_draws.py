"""Draws from torch's global stream, which is a worker's own while it draws.

Else they would depend on the order in which threads take workers. Each pass of a worker has a
stream of its own, whose seed is drawn from the worker's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
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


class Functions(TorchFunctionMode):
    """Within it, these functions of torch draw from a generator, also in several threads.

    Without the functions, each that is called is tried, and ``found`` has those that draw.
    """

    def __init__(self, generator: torch.Generator, functions: Collection[Any] | None = None):
        super().__init__()
        self._generator, self._functions = generator, functions
        self.found: set[Any] = set()

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        if self._functions is not None and func not in self._functions:
            return func(*args, **(kwargs or {}))
        before = self._generator.get_state()
        with drawing_from(self._generator):
            output = func(*args, **(kwargs or {}))
        if not torch.equal(self._generator.get_state(), before):
            self.found.add(func)
        return output
