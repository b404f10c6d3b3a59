"""Compressions: what a worker sends in place of a row, in fewer bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.common.fields import above, number
from ngo.common.options import Options, declare, takes_options
from ngo.common.registry import Registry

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run
    from ngo.native.pool import Map

# An option of the compressions that send only some of a row's entries.
KEPT = {"kept_share": number("share of a row's entries that are sent", 0.01, above(0, 1))}


def kept_entries(d: int, run: Run) -> int:
    """How many of ``d`` entries are sent: ``kept_share`` · d, rounded, and at least one."""
    return max(1, round(run.kept_share * d))


def add_entries(x: torch.Tensor, x_hat: torch.Tensor, indices: torch.Tensor, spread: Map) -> None:
    """Let x̂ be x̂ + (x − x̂) at ``indices`` ``[n, k]``, k different columns of each row."""
    from ngo.native import compress
    from ngo.native.shared_work import fits

    if fits(x, x_hat):
        compress.add_entries(x, x_hat, indices, spread=spread)
    else:
        x_hat.scatter_add_(1, indices, x.gather(1, indices) - x_hat.gather(1, indices))


def packed_size(d: int, bits: int) -> int:
    """How many bytes ``d`` codes of ``bits`` bits take: ⌈d · bits / 8⌉."""
    return (d * bits + 7) // 8


class Codec(ABC):
    """The encoder and decoder of a compression, for rows of ``d`` numbers of one dtype.

    A row z becomes a payload of ``size`` bytes. Sender and receivers decode it to the same C(z).
    Within one process nobody reads a payload, and ``add`` may compute C(z) without it.
    """

    def __init__(
        self, d: int, dtype: torch.dtype, run: Run, streams: Sequence[torch.Generator] = ()
    ) -> None:
        """``streams``: a random stream for each worker whose rows are encoded."""
        self.d, self.dtype, self.run, self.streams = d, dtype, run, streams

    @staticmethod
    @abstractmethod
    def size(d: int, run: Run, number: int) -> int:
        """The bytes of a payload, for rows of ``d`` numbers of ``number`` bytes."""

    @abstractmethod
    def encode(self, z: torch.Tensor) -> torch.Tensor:
        """The payloads ``[n, size]``, uint8, of rows ``[n, d]``."""

    @abstractmethod
    def decode(self, payload: torch.Tensor) -> torch.Tensor:
        """The rows C(z) ``[m, d]`` of payloads ``[m, size]``."""

    def add(self, x: torch.Tensor, x_hat: torch.Tensor, spread: Map) -> None:
        """Let x̂ be x̂ + C(x − x̂), in place, with the bytes of a decoded payload.

        ``spread`` distributes the rows over threads.
        """
        x_hat += self.decode(self.encode(x - x_hat))


@dataclass(frozen=True)
class Compression:
    """An entry of the registry."""

    codec: type[Codec]
    #: The options that the compression declares.
    fields: tuple[str, ...]


COMPRESSIONS: Registry[Compression] = Registry("compression")


@takes_options
def compression(
    name: str, *, options: Options | None = None, version: int = 1
) -> Callable[[type[Codec]], type[Codec]]:
    """Register a ``Codec`` under the name that configs and commands use.

    C must be a contraction, or error feedback does not converge: E‖C(z) − z‖² ≤ (1 − δ)‖z‖² for a
    δ > 0. ``options`` are new fields of a run; the codec reads them as ``self.run.NAME``.
    ``version`` is raised when its results change.
    """

    def register(codec: type[Codec]) -> type[Codec]:
        fields = declare("compression", name, options)
        COMPRESSIONS.add(name, Compression(codec, fields), codec, version)
        return codec

    return register
