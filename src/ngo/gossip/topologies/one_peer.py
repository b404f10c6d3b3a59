"""The one-peer exponential graph (Ying et al. 2021): in each step a worker sends to one other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.topologies.exponential import digits
from ngo.gossip.topology import topology

if TYPE_CHECKING:
    from ngo.gossip.mixing_matrix import MixingMatrix


@topology(
    "one_peer_exponential",
    directed=True,
    weighted=True,
    period=digits,
    exact=lambda n: n & (n - 1) == 0,
)
def one_peer_exponential(n: int, t: int) -> MixingMatrix:
    """The one-peer exponential graph (Ying et al. 2021): from i to i + 1, i + 2, i + 4, … in turn.

    W_ij = 1/2 for j = i and for j = i − 2^(t mod ⌈log₂ n⌉), on a circle. For n = 2^k, the product
    of k successive matrices is the mean.
    """
    import torch

    from ngo.gossip.mixing_matrix import MixingMatrix

    workers, half = torch.arange(n), torch.full((n,), 0.5)
    return MixingMatrix(n, workers, (workers - 2 ** (t % digits(n))) % n, half, half)
