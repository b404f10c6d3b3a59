"""Which samples each worker trains on in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch

from ngo.common.devices import sent
from ngo.data.augmentation import Augmentation
from ngo.data.dataset import Dataset
from ngo.engine.backends import Rows, Stacked
from ngo.models.task import Batch, Task, image_batch, normalised_batch
from ngo.native.card_streams import CardStreams

# The fewest samples of a worker that are drawn, and the most batches of a worker and samples of
# all that are cut, at once. To do so when a batch is due would take longer, with thousands
# of workers, than the rest of a step.
SAMPLES, BATCHES, AHEAD = 64, 256, 1 << 18


class BatchStream:
    """Endless batches of one worker's sample indices, ``[batch_size]`` each.

    Each pass over the samples has a new random order. Every batch is full: the last batch of a pass
    is completed from the next pass. So workers with unequal shares step together.
    """

    def __init__(self, owned: np.ndarray, batch_size: int, generator: torch.Generator) -> None:
        self._samples = torch.from_numpy(owned)
        self._waiting = self._samples[:0]  # the next ones
        self.batch_size = batch_size
        self._generator = generator
        #: How many batches should be cut at once.
        self.ahead = min(max(SAMPLES, len(owned)) // batch_size or 1, BATCHES)

    def take(self, count: int) -> torch.Tensor:
        """The next batches ``[count, batch_size]``."""
        passes, wanted = [self._waiting], count * self.batch_size
        while sum(map(len, passes)) < wanted:
            order = torch.randperm(len(self._samples), generator=self._generator)
            passes.append(self._samples[order])
        drawn = torch.cat(passes) if passes[1:] else self._waiting
        self._waiting = drawn[wanted:]
        return drawn[:wanted].view(count, self.batch_size)

    def put_back(self, samples: torch.Tensor) -> None:
        """Have ``samples`` that were taken come next."""
        self._waiting = torch.cat([samples, self._waiting])

    @cached_property
    def owned(self) -> torch.Tensor:
        """The worker's samples, in order."""
        return self._samples.sort().values

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The state that decides the next batches."""
        return {"waiting": self._waiting, "stream": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Restore from ``state``."""
        self._waiting = state["waiting"]
        self._generator.set_state(state["stream"])


@dataclass(eq=False)
class Batches:
    """The samples of the workers' next step (see ``backends.Batches``)."""

    task: Task
    data: Dataset
    #: The sample indices of each worker.
    streams: Sequence[BatchStream]
    #: Changes images, at random from the worker's stream in ``changes``.
    augment: Augmentation | None = None
    changes: Any = ()  # or the CardStreams of all
    #: Those of each run, where several runs step as one.
    members: Sequence[Batches] = ()
    #: The workers that take the next step, by row; None: all.
    workers: Sequence[int] | None = None
    #: The samples ``[k, b]`` of their last step, on the device of the data.
    drawn: torch.Tensor = field(init=False)
    # Samples of the next steps, of the next one last.
    _ahead: list[torch.Tensor] = field(default_factory=list, init=False)

    @classmethod
    def joined(cls, members: Sequence[Batches]) -> Batches:
        """Those of several runs on one data set, from the same streams, one run after another."""
        first = members[0]
        streams = [stream for member in members for stream in member.streams]
        changes: Any = [member.changes for member in members]
        card = isinstance(first.changes, CardStreams)
        changes = CardStreams.joined(changes) if card else list(chain.from_iterable(changes))
        return cls(first.task, first.data, streams, first.augment, changes, members)

    def rows(self) -> Rows:
        """The same samples as rows of the data set, unless they are augmented."""
        data, images = self.data, self.task.batch is image_batch
        plain = images or self.task.batch is normalised_batch
        if self.augment is not None or not plain or (images and self._shades is None):
            return Stacked(*self.all()).rows()
        targets = data.train_inputs if images else data.train_targets
        samples = self._indices()
        return Rows(len(samples), data.train_inputs, targets, samples, self._shades)

    @cached_property
    def _shades(self) -> torch.Tensor | None:
        """What each value of a pixel becomes, by channel ``[c, 256]``; None for float inputs."""
        inputs = self.data.train_inputs
        if inputs.is_floating_point():
            return None
        values = torch.arange(256, dtype=torch.uint8, device=inputs.device)
        values = values[:, None, None, None].expand(-1, inputs.shape[1], 1, 1)
        shades, _ = self.task.batch(self.data, values, values)
        return shades.flatten(1).T.contiguous()

    def _indices(self) -> torch.Tensor:
        """The next samples ``[k, b]``."""
        if self.members:
            self.drawn = torch.cat([member._indices() for member in self.members])
        elif self.workers is not None:
            self.put_back()
            drawn = torch.cat([self.streams[i].take(1) for i in self.workers])
            self.drawn = sent(drawn, self.data.train_inputs.device)
        else:
            if not self._ahead:
                self._draw()
            self.drawn = self._ahead.pop()
        return self.drawn

    def places(self) -> tuple[torch.Tensor, torch.Tensor]:
        """See ``Step.samples``."""
        owned = [stream.owned for stream in self.streams]
        places = map(torch.searchsorted, owned, self.drawn.cpu())
        return torch.stack(list(places)), torch.tensor([len(samples) for samples in owned])

    def _draw(self) -> None:
        """Draw the samples of the next steps."""
        streams, size = self.streams, self.streams[0].batch_size
        count = min(min(stream.ahead for stream in streams), AHEAD // (len(streams) * size) or 1)
        drawn = torch.stack([stream.take(count) for stream in streams], 1)
        self._ahead = list(sent(drawn, self.data.train_inputs.device).unbind()[::-1])

    def put_back(self) -> None:
        """Give the streams back what is drawn ahead of the next step."""
        if self._ahead:
            samples = torch.stack(self._ahead[::-1], 1).flatten(1).cpu()
            for stream, own in zip(self.streams, samples, strict=True):
                stream.put_back(own)
            self._ahead = []

    def state_dict(self) -> list[dict[str, torch.Tensor]]:
        """The state of each stream."""
        self.put_back()
        return [stream.state_dict() for stream in self.streams]

    def load_state_dict(self, states: Sequence[dict[str, torch.Tensor]]) -> None:
        """Restore from ``states``."""
        self._ahead = []
        for stream, state in zip(self.streams, states, strict=True):
            stream.load_state_dict(state)

    def all(self) -> Batch:
        """The inputs ``[k, b, …]`` and targets ``[k, b, …]`` of the workers."""
        indices = self._indices()
        data, samples = self.data, indices.flatten()
        inputs = data.train_inputs.index_select(0, samples)  # faster than [samples]
        targets = data.train_targets.index_select(0, samples)
        if self.augment is not None:
            b, workers = indices.shape[1], self.workers
            changes = self.changes
            if workers is not None and isinstance(changes, CardStreams):
                changes = CardStreams(changes.state, list(workers))
            elif workers is not None:
                changes = [changes[i] for i in workers]
            inputs = self.augment.of_workers(inputs, b, changes)
        inputs, targets = self.task.batch(data, inputs, targets)
        return inputs.unflatten(0, indices.shape), targets.unflatten(0, indices.shape)
