"""A learning rate that drops twice."""

from ngo.common.fields import above, number
from ngo.gossip.lr_schedule import lr_schedule
from ngo.gossip.step import Run

DROPS = {
    "lr_drop_factor": number("factor of η at each drop", 0.1, above(0, 1)),
    "lr_first_drop": number("share of the run's steps before the first drop", 0.5, above(0, 1)),
    "lr_second_drop": number(
        "share of the run's steps before the second drop; 1: no second drop", 0.75, above(0, 1)
    ),
}


@lr_schedule("step", options=DROPS)
def step(share: float, run: Run) -> float:
    """Two drops: η_t = η f^k after the k-th, f = ``lr_drop_factor``.

    They come after two shares of the run's steps (as in He et al. 2016).
    """
    drops = (share >= run.lr_first_drop) + (share >= run.lr_second_drop)
    return run.lr_drop_factor**drops
