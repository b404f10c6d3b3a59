"""Local SGD: several gradient steps for each exchange (Stich 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.method import GOSSIP_FIELDS, method

if TYPE_CHECKING:
    from ngo.gossip.step import Step


@method("local_sgd", fields=(*GOSSIP_FIELDS, "local_steps"), asynchronous=True, delay=0)
def local_sgd(step: Step) -> None:
    """Local SGD (Stich 2019): one exchange after every H half steps, H = ``local_steps``."""
    step.descend()
    if (step.t + 1) % step.run.local_steps == 0:
        step.gossip()
