"""Gradient tracking (DSGT; Pu and Nedić 2021): each worker estimates the mean gradient."""

import ngo


@ngo.method("gradient_tracking", fields=("topology",), directed=False)
def gradient_tracking(step):
    """Mix, then correct: y ← W y + g − g_before;  x ← W (x − η y)."""
    y, before = step.matrix("y"), step.matrix("g")
    if step.t == 0:
        y.copy_(step.G)
    else:
        step.network.mix(y)
        y.add_(step.G).sub_(before)
    before.copy_(step.G)
    step.G.copy_(y)  # the local rule descends along the estimate
    step.descend()
    step.network.mix(step.X)
