"""Made-up rounds without learning, as ``measures.rounds`` tabulates them."""

import pandas as pd

SEEDS = range(8)


def made(V, seeds=SEEDS):
    """A table with two recorded rounds; ``V(coupling, p, gamma, seed)`` is that of the last."""
    cases = [("power", 1.0), ("power", 0.75), ("capped", 0.75)]
    return pd.DataFrame(
        {
            "disturbance": kind, "strength": 0.1, "topology": "ring", "coupling": coupling,
            "p": p, "gamma": gamma, "seed": seed, "round": t, "messages": 20 * t,
            "workers": 10, "early": 10,
            "V": V(coupling, p, gamma, seed) if t else 100.0,
            "V_early": V(coupling, p, gamma, seed), "V_settled": V(coupling, p, gamma, seed),
        }
        for kind in ("none", "drift") for coupling, p in cases for gamma in (0.5, 1.0)
        for seed in seeds for t in (0, 10)
    )  # fmt: skip


def by_gamma(coupling, p, gamma, seed):
    """Linear 2 at γ = 1; NGO 8 at γ = 0.5; capped 1 at γ = 1; all three times as much elsewhere."""
    level, best = {("power", 1.0): (2, 1.0), ("power", 0.75): (8, 0.5), ("capped", 0.75): (1, 1.0)}[
        coupling, p
    ]
    return level * (1 if gamma == best else 3) * (1 + 0.1 * seed)
