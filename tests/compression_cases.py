"""Codecs and rows for tests."""

from types import SimpleNamespace

import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.compression import COMPRESSIONS

N, D = 4, 41
OPTIONS = {"kept_share": 0.2, "levels": 5}
NAMES = ("none", "top_k", "random_k", "sign", "qsgd")


def codec_of(name, *, n=N, d=D, dtype=torch.float64, seed=0, **options):
    run = SimpleNamespace(**{**OPTIONS, **options})
    streams = [torch_stream(seed, "compression", i) for i in range(n)]
    return COMPRESSIONS[name].codec(d, dtype, run, streams)


def rows(n=N, d=D, dtype=torch.float64, seed=0):
    return torch.randn(n, d, generator=torch_stream(seed, "rows"), dtype=dtype)


def sent(codec, z):
    """C(z)."""
    return codec.decode(codec.encode(z))


def mean_of_draws(name, z, draws=4000, **options):
    """The mean of C(z), and of ‖C(z) − z‖², over draws, for one row ``z`` ``[d]``."""
    codec = codec_of(name, n=draws, d=len(z), **options)
    found = sent(codec, z.expand(draws, -1).contiguous())
    return found.mean(0), float((found - z).square().sum(1).mean())
