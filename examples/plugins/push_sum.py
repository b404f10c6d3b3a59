"""Stochastic gradient push (Assran et al. 2019) on a directed ring."""

import ngo


@ngo.topology("directed_ring", directed=True)
def directed_ring(n):
    """Worker i sends to i + 1."""
    return [(i, (i + 1) % n) for i in range(n)]


@ngo.method("push_sum", fields=("topology",), directed=True)
def push_sum(step):
    """Mix x ← W x and w ← W w for column-stochastic W; gradients at the de-biased z = x / w.

    ``step.X`` holds z, so that gradients and evaluations see it.
    """
    step.descend()
    w = step.matrix("w", columns=1, fill=1.0)
    x = step.X * w
    step.network.mix(x)
    step.network.mix(w)
    step.X.copy_(x / w)
