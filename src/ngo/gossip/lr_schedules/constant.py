"""A constant learning rate."""

from ngo.gossip.lr_schedule import lr_schedule
from ngo.gossip.step import Run


@lr_schedule("constant")
def constant(share: float, run: Run) -> float:
    """The same rate in all steps: η_t = η."""
    return 1.0
