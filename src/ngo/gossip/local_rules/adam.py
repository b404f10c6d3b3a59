"""Adam."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ngo.gossip.local_rule import local_rule

if TYPE_CHECKING:
    from torch import Tensor

    from ngo.gossip.step import Step
    from ngo.native.elementwise import Chain

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@local_rule("adam", linear=False, matrices=2, chain=True)
def adam(step: Step) -> Chain:
    """Adam (Kingma and Ba 2015), with the constants of its authors.

    Algorithm 1. m and v are the moving averages of the gradient and of its square; both are local
    to a worker. k is the number of the step, from 1.
    """
    k = step.t + 1
    scale = math.sqrt(1 - BETA2**k)

    def descend(x: Tensor, m: Tensor, v: Tensor, g: Tensor) -> None:
        m.lerp_(g, 1 - BETA1)
        v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        # (m / (1 − β₁ᵏ)) / (√(v / (1 − β₂ᵏ)) + ε), with the scales taken out of the matrices.
        x.addcdiv_(m, v.sqrt().add_(EPSILON * scale), value=-step.lr * scale / (1 - BETA1**k))

    return descend, step.X, step.matrix("adam_m"), step.matrix("adam_v"), step.G
