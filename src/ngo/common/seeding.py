"""Independent random streams, keyed by (seed, name, worker).

A key gives the same stream in every process and at any time. Two methods with the same key draw the
same numbers, so that their comparison is paired.
"""

from __future__ import annotations

import hashlib

from ngo.common.lazy import np, torch


def stream_seed(seed: int, name: str, worker: int | None = None) -> int:
    """A 63-bit seed of the stream ``name``, or of one ``worker``'s stream of this name."""
    key = f"{seed}/{name}/{'' if worker is None else worker}"
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") >> 1


def torch_stream(
    seed: int, name: str, worker: int | None = None, device: str | torch.device = "cpu"
) -> torch.Generator:
    """The stream as a torch generator on ``device``."""
    return torch.Generator(device).manual_seed(stream_seed(seed, name, worker))


def numpy_stream(seed: int, name: str, worker: int | None = None) -> np.random.Generator:
    """The stream as a numpy generator."""
    return np.random.default_rng(stream_seed(seed, name, worker))
