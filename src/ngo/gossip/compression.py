"""Compressions: what a worker sends in place of a row, in fewer bytes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from ngo.common.fields import Entry, Options, above, number, registers, whole, within
from ngo.common.lazy import Run, Tensor, nn, np, torch
from ngo.common.registries import COMPRESSIONS
from ngo.native import compress
from ngo.native.threads import Map, fits, in_order
from verdicts.registry import UserError


def packed_size(d: int, bits: int) -> int:
    """How many bytes ``d`` codes of ``bits`` bits take: ⌈d · bits / 8⌉."""
    return (d * bits + 7) // 8


def to_bytes(numbers: Tensor) -> Tensor:
    """The bytes of each row ``[n, k]`` of numbers."""
    return numbers.contiguous().view(torch.uint8)


def from_bytes(payload: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers of each row of bytes."""
    return payload.clone(memory_format=torch.contiguous_format).view(dtype)  # a clone is aligned


def pack(codes: Tensor, bits: int) -> Tensor:
    """Codes ``[n, d]``, uint8 below 2^bits, one after another without gaps, low bits first."""
    ones = _bits(codes, bits)
    return _numbers(nn.functional.pad(ones, (0, -ones.shape[1] % 8)), 8)


def unpack(payload: Tensor, bits: int, d: int) -> Tensor:
    """The ``d`` codes of each row ``[n, d]``, uint8."""
    return _numbers(_bits(payload, 8)[:, : d * bits], bits)


def _bits(numbers: Tensor, count: int) -> Tensor:
    """The ``count`` low bits of each number, the lowest first, in a row: ``[n, k · count]``."""
    places = torch.arange(count, dtype=torch.uint8, device=numbers.device)
    return ((numbers[..., None] >> places) & 1).flatten(1)


def _numbers(ones: Tensor, count: int) -> Tensor:
    """The numbers of so many bits each: ``_bits`` backwards."""
    places = torch.arange(count, dtype=torch.uint8, device=ones.device)
    return (ones.unflatten(1, (-1, count)) << places).sum(-1, dtype=torch.uint8)


# An option of the compressions that send only some of a row's entries.
KEPT = {"kept_share": number("share of a row's entries that are sent", 0.01, above(0, 1))}


def kept_entries(d: int, run: Run) -> int:
    """How many of ``d`` entries are sent: ``kept_share`` · d, rounded, and at least one."""
    return max(1, round(run.kept_share * d))


def add_entries(x: Tensor, x_hat: Tensor, indices: Tensor, spread: Map) -> None:
    """Let x̂ be x̂ + (x − x̂) at ``indices`` ``[n, k]``, k different columns of each row."""
    if fits(x, x_hat):
        compress.add_entries(x, x_hat, indices, spread=spread)
    else:
        x_hat.scatter_add_(1, indices, x.gather(1, indices) - x_hat.gather(1, indices))


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

    def bytes_of(self, rows: Tensor) -> int:
        """The ``size`` for these rows."""
        size = self.size(self.d, self.run, rows.element_size())
        if not hasattr(size, "__index__"):
            told = f"its size is {size!r}; it must be a whole number (int)"
            raise UserError(f"compression {self.run.compression!r}: {told}.")
        return int(size)

    @abstractmethod
    def encode(self, z: Tensor) -> Tensor:
        """The payloads ``[n, size]``, uint8, of rows ``[n, d]``."""

    @abstractmethod
    def decode(self, payload: Tensor) -> Tensor:
        """The rows C(z) ``[m, d]`` of payloads ``[m, size]``."""

    def add(self, x: Tensor, x_hat: Tensor, spread: Map) -> None:
        """Let x̂ be x̂ + C(x − x̂), in place, with the bytes of a decoded payload.

        ``spread`` distributes the rows over threads.
        """
        payload = self.encode(x - x_hat)
        wanted = torch.uint8, (len(x), self.bytes_of(x))
        found = getattr(payload, "dtype", type(payload)), getattr(payload, "shape", ())
        if found != wanted:
            raise UserError(
                f"compression {self.run.compression!r}: its payloads are {found[0]} of shape "
                f"{list(found[1])}; by its size they must be uint8 {list(wanted[1])}."
            )
        x_hat += self.decode(payload)


def compression(
    name: str, *, options: Options | None = None, version: int = 1
) -> Callable[[type[Codec]], type[Codec]]:
    """Register a ``Codec`` under the name that configs and commands use.

    C must be a contraction, or error feedback does not converge: E‖C(z) − z‖² ≤ (1 − δ)‖z‖² for a
    δ > 0. ``options`` are new fields of a run; the codec reads them as ``self.run.NAME``.
    ``version`` is raised when its results change.
    """
    return registers(COMPRESSIONS, name, Entry, options, version)


@compression("none")
class Uncompressed(Codec):
    """No compression: C(z) = z."""

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """The numbers themselves."""
        return d * number

    def encode(self, z: Tensor) -> Tensor:
        """The bytes of the numbers."""
        return to_bytes(z)

    def decode(self, payload: Tensor) -> Tensor:
        """The same numbers."""
        return from_bytes(payload, self.dtype)


INDEX_BYTES = 4


@compression("top_k", options=KEPT)
class TopK(Codec):
    """The k = ``kept_share`` · d entries with the largest |z|, and 0 for the others.

    δ = k/d. Of equal entries, compiled code takes the first ones, and torch any. The payload is
    their values, and their indices as int32.
    """

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """A value and an index for each kept entry."""
        return kept_entries(d, run) * (number + INDEX_BYTES)

    def encode(self, z: Tensor) -> Tensor:
        """Values, then indices."""
        largest = self._largest(z, torch.zeros_like(z[:1]))
        return torch.cat([to_bytes(z.gather(1, largest)), to_bytes(largest.int())], 1)

    def decode(self, payload: Tensor) -> Tensor:
        """Values at their indices; 0 elsewhere."""
        split = payload.shape[1] - kept_entries(self.d, self.run) * INDEX_BYTES
        values = from_bytes(payload[:, :split], self.dtype)
        indices = from_bytes(payload[:, split:], torch.int32).long()
        return values.new_zeros(len(payload), self.d).scatter_(1, indices, values)

    def add(self, x: Tensor, x_hat: Tensor, spread: Map) -> None:
        """Only the entries that are kept change."""
        add_entries(x, x_hat, self._largest(x, x_hat, spread), spread)

    def _largest(self, x: Tensor, h: Tensor, spread: Map = in_order) -> Tensor:
        """The places ``[n, k]`` of the largest |x − h|; ``h`` may be one row."""
        k = kept_entries(self.d, self.run)
        if fits(x, h):
            return compress.largest(x, h, k, spread=spread)
        return (x - h).abs().topk(k, sorted=False).indices


SEED_BYTES = 8


@compression("random_k", options=KEPT)
class RandomK(Codec):
    """k = ``kept_share`` · d random entries of z, and 0 for the others (Stich et al. 2018).

    Each set of k entries is equally likely. δ = k/d. (d/k) C(z) is unbiased. The payload is the
    values and a seed, from which the receiver draws the same indices.
    """

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """A value for each kept entry, and the seed."""
        return kept_entries(d, run) * number + SEED_BYTES

    def encode(self, z: Tensor) -> Tensor:
        """Values, then the seed, drawn from the stream of the row."""
        seeds = self._seeds()
        values = z.gather(1, self._indices(seeds))
        return torch.cat([to_bytes(values), to_bytes(seeds).to(z.device)], 1)

    def decode(self, payload: Tensor) -> Tensor:
        """The values at the indices drawn from the seed; 0 elsewhere."""
        values = from_bytes(payload[:, :-SEED_BYTES], self.dtype)
        indices = self._indices(from_bytes(payload[:, -SEED_BYTES:], torch.int64))
        return values.new_zeros(len(payload), self.d).scatter_(1, indices, values)

    def add(self, x: Tensor, x_hat: Tensor, spread: Map) -> None:
        """Only the drawn entries change."""
        add_entries(x, x_hat, self._indices(self._seeds()), spread)

    def _seeds(self) -> Tensor:
        """A seed for each row ``[n, 1]``, drawn from its stream."""
        draw = partial(torch.randint, 2**63 - 1, (1,))
        return torch.stack([draw(generator=each, device=each.device) for each in self.streams])

    def _indices(self, seeds: Tensor) -> Tensor:
        """The indices ``[n, k]`` drawn from the seeds ``[n, 1]``."""
        k = kept_entries(self.d, self.run)
        drawn = np.empty((len(seeds), k), dtype=np.int64)
        for row, seed in zip(drawn, seeds.flatten().tolist(), strict=True):
            row[:] = np.random.default_rng(seed).choice(self.d, k, replace=False, shuffle=False)
        return torch.from_numpy(drawn).to(seeds.device)


@compression("sign")
class Sign(Codec):
    """C(z) = sign(z) · mean|z|: one bit an entry, and one number (Karimireddy et al. 2019).

    sign(0) = 1. δ = ‖z‖₁² / (d ‖z‖₂²).
    """

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """The scale, and a bit for each entry."""
        return number + packed_size(d, 1)

    def encode(self, z: Tensor) -> Tensor:
        """The scale, then 1 for each negative entry."""
        scale = _scale(z)
        return torch.cat([to_bytes(scale), pack((z < 0).view(torch.uint8), 1)], 1)

    def decode(self, payload: Tensor) -> Tensor:
        """The scale with the sign of each entry."""
        scale = from_bytes(payload[:, : self.dtype.itemsize], self.dtype)
        negative = unpack(payload[:, self.dtype.itemsize :], 1, self.d)
        return (1 - 2 * negative.view(torch.int8)) * scale

    def add(self, x: Tensor, x_hat: Tensor, spread: Map) -> None:
        """In compiled code where that fits."""
        if fits(x, x_hat):
            compress.add_signs(x, x_hat, spread=spread)
        else:
            super().add(x, x_hat, spread)


def _scale(z: Tensor) -> Tensor:
    """The mean of |z| in each row, ``[n, 1]``."""
    if fits(z):
        return (compress.row_sums(z)[:, :1] / z.shape[1]).to(z.dtype)
    return z.abs().mean(1, keepdim=True)


LEVELS = {"levels": whole("levels other than 0 to which an entry is rounded", 7, within(1, 127))}


@compression("qsgd", options=LEVELS)
class QSGD(Codec):
    """QSGD (Alistarh et al. 2017): |z|/‖z‖ is rounded at random to a multiple of 1/``levels``.

    Let ξ be the rounded value and s = ``levels``. Then ‖z‖ sign(z) ξ is unbiased. C(z) is this row
    divided by c = 1 + min(d/s², √d/s), a contraction with δ = 1/c (Koloskova et al. 2019). The
    payload is ‖z‖, and a sign and a level for each entry.
    """

    @staticmethod
    def size(d: int, run: Run, number: int) -> int:
        """The norm, and a sign and a level for each entry, in whole bits."""
        return number + packed_size(d, 1 + run.levels.bit_length())

    @property
    def tau(self) -> float:
        """c, by which an unbiased row is divided (τ in Koloskova et al. 2019)."""
        s = self.run.levels
        return 1 + min(self.d / s**2, math.sqrt(self.d) / s)

    def encode(self, z: Tensor) -> Tensor:
        """The norm, then the codes: the sign is the highest bit."""
        s = self.run.levels
        z, norm, original = _in_range(z)
        if _compiled(z):
            codes = compress.codes(z, s, self.streams)
        else:
            level = torch.empty_like(z)
            for row, stream in zip(level, self.streams, strict=True):
                row.uniform_(generator=stream)
            level.addcmul_(z.abs(), s / norm.clamp_min(torch.finfo(z.dtype).tiny))
            codes = level.byte().clamp_(max=s)  # rounded down; only a rounding error exceeds s
            codes |= (z < 0).view(torch.uint8) << s.bit_length()
        return torch.cat([to_bytes(original), pack(codes, 1 + s.bit_length())], 1)

    def decode(self, payload: Tensor) -> Tensor:
        """‖z‖ · sign · level / (s c)."""
        s = self.run.levels
        bits = s.bit_length()
        norm = from_bytes(payload[:, : self.dtype.itemsize], self.dtype)
        codes = unpack(payload[:, self.dtype.itemsize :], 1 + bits, self.d)
        level, sign = (codes & (1 << bits) - 1).view(torch.int8), (codes >> bits).view(torch.int8)
        return level.mul_(1 - 2 * sign) * (norm / (s * self.tau))

    def add(self, x: Tensor, x_hat: Tensor, spread: Map) -> None:
        """In compiled code where that fits, but for rows out of range."""
        others, s = list(range(len(x))), self.run.levels
        if _compiled(x, x_hat):
            others = compress.add_rounded(x, x_hat, s, s * self.tau, self.streams, spread=spread)
        for i in others:
            row = slice(i, i + 1)
            alone = QSGD(self.d, self.dtype, self.run, self.streams[row])
            Codec.add(alone, x[row], x_hat[row], spread)


def _compiled(*states: Tensor) -> bool:
    """Whether compiled code draws and rounds these rows as torch would."""
    return fits(*states) and compress.draws_as_torch()


def _norm(z: Tensor) -> Tensor:
    """The norms of the rows, ``[n, 1]``."""
    if _compiled(z):
        return compress.row_sums(z)[:, 1:].sqrt().to(z.dtype)
    return z.norm(dim=1, keepdim=True)


def _in_range(z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The rows ``[n, d]``, their norms ``[n, 1]``, and the norms of the given rows.

    A row whose squares exceed the range of its type, or fall below it, is divided by its largest
    entry. Other rows do not change. A finite row's norm is at most the largest number.
    """
    limits, norm = torch.finfo(z.dtype), _norm(z)
    outside = norm.isinf() | (norm < math.sqrt(limits.tiny / limits.eps))
    if not outside.any():
        return z, norm, norm
    largest = z.abs().amax(1, keepdim=True)
    outside &= largest.isfinite() & (largest > 0)
    z = z / torch.where(outside, largest, 1)
    scaled = _norm(z)
    return z, scaled, torch.where(outside, (scaled * largest).clamp(max=limits.max), scaled)
