"""Half a cosine, from η to 0."""

import math

from ngo.gossip.lr_schedule import lr_schedule
from ngo.gossip.step import Run


@lr_schedule("cosine")
def cosine(share: float, run: Run) -> float:
    """Half a cosine, from η to 0: η_t = η (1 + cos(π t / T)) / 2.

    Loshchilov and Hutter 2017, without restarts.
    """
    return (1 + math.cos(math.pi * share)) / 2
