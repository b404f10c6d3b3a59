"""Push-DIGing (Nedić, Olshevsky and Shi 2017): gradient tracking on directed graphs."""

import ngo


@ngo.topology("de_bruijn", directed=True)
def de_bruijn(n):
    """Worker i sends to 2i and 2i + 1 (mod n)."""
    return [(i, (2 * i + digit) % n) for i in range(n) for digit in (0, 1)]


@ngo.method("push_diging", fields=("topology",), directed=True, sends=("d", "d", "1"))
def push_diging(step):
    """Track, then push: y ← W y + g − g_before;  u ← W (u − η y);  v ← W v;  x = u / v.

    ``step.X`` holds x, so that gradients and evaluations see it.
    """
    v, y, before = step.matrix("v", columns=1, fill=1.0), step.matrix("y"), step.matrix("g")
    step.network.mix(y)  # 0 in the first step
    y.add_(step.G).sub_(before)
    before.copy_(step.G)
    step.G.copy_(y)  # the local rule descends along y
    x = step.X.clone()
    step.descend()
    u = x * v + (step.X - x)
    step.network.mix(u)
    step.network.mix(v)
    step.X.copy_(u / v)
