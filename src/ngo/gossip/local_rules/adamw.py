"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.gossip.local_rule import local_rule
from ngo.gossip.local_rules.adam import adam

if TYPE_CHECKING:
    from ngo.gossip.step import Step
    from ngo.native.elementwise import Chain


@local_rule("adamw", linear=False, decoupled_decay=True, matrices=2, chain=True)
def adamw(step: Step) -> Chain | None:
    """AdamW (Loshchilov and Hutter 2019): Adam after x_i ← (1 − η λ) x_i, λ = ``weight_decay``."""
    return adam(step)
