"""The complete graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.topology import topology

if TYPE_CHECKING:
    import numpy as np


@topology("complete", exact=True, density=1.0)
def complete(n: int) -> np.ndarray:
    """Every pair of workers is connected."""
    import numpy as np

    return np.stack(np.triu_indices(n, 1), 1)
