"""SlowMo (Wang et al. 2020, Algorithm 1): slow momentum on top of decentralized SGD."""

import ngo

SLOW = {
    "slow_lr": ngo.number("slow learning rate α", 1.0, ngo.above(0)),
    "slow_momentum": ngo.number("slow momentum β", 0.5, ngo.below(0, 1)),
}


@ngo.method("slowmo", fields=("topology", "local_steps"), options=SLOW)
def slowmo(step):
    """Slow momentum around τ steps of gossip. A step is x ← W (x − η g); after τ = ``local_steps``:

    u ← β u + (x₀ − x̄)/η;  x₀ ← x₀ − α η u;  x ← x₀.
    """
    start, u = step.matrix("start"), step.matrix("u")
    if step.t == 0:
        start.copy_(step.X)
    step.descend()
    step.network.mix(step.X)
    if (step.t + 1) % step.run.local_steps == 0:
        mean = step.network.mean(step.X)
        u.mul_(step.run.slow_momentum).add_((start - mean) / step.lr)
        start.sub_(u, alpha=step.run.slow_lr * step.lr)
        step.X.copy_(start)
