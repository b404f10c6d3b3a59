"""Made-up metrics of speed-up and throughput, and consensus without training."""

import pandas as pd
from made_up import FACTS, FIXED, SEEDS


def speeding_up():
    """Runs for Figure A2: in 10 steps, accuracy rises by 10 points with one worker, and with two by
    20 with gossip and by 40 with NGO; never above 99 %.
    """
    rates = {("centralized", 1): 0.1, ("gossip", 2): 0.2, ("ngo", 2): 0.4}
    rows = []
    for (method, n), rate in rates.items():
        for seed in SEEDS:
            facts = {**FACTS, **FIXED.get(method, {}), "method": method, "seed": seed}
            facts |= {"workers": n, "run": f"{method}-{n}-{seed}", "diverged": False}
            for k in range(11):
                rows.append({**facts, "step": 10 * k, "consensus_accuracy": min(rate * k, 0.99)})
    return pd.DataFrame(rows)


def throughputs():
    """Three repeats of the throughput; the medians are 20 n for gossip and 10 n for NGO."""
    return pd.DataFrame(
        {"method": method, "workers": n, "repeat": k, "samples_per_second": rate * n * (k + 1)}
        for method, rate in (("gossip", 10.0), ("ngo", 5.0))
        for n in (1, 2, 4)
        for k in range(3)
    )


def trajectories(exponents, delays=(0,), rounds=100, gamma=0.02):
    """Consensus of ten workers on a ring, as the rows of a tidy table."""
    import torch

    from ngo.common.seeding import torch_stream
    from ngo.gossip.consensus_dynamics import simulate
    from ngo.gossip.mixing_matrix import mixing_matrix
    from ngo.gossip.topologies.static import ring

    n = 10
    X0 = torch.randn(n, 1, generator=torch_stream(0, "states"), dtype=torch.float64)
    W = mixing_matrix(ring(n))
    tables = []
    for p in exponents:
        for delay in delays:
            done = simulate(X0, W, p, gamma, rounds, delay)
            index = pd.MultiIndex.from_product(
                [range(rounds + 1), range(n)], names=["round", "worker"]
            )
            table = index.to_frame(index=False).assign(x=done.states.numpy().ravel())
            facts = {"p": p, "delay": delay, "topology": "ring", "workers": n, "gamma": gamma}
            V = done.V.numpy()[table["round"]]
            tables.append(pd.DataFrame({**facts, **table, "V": V}))
    return pd.concat(tables, ignore_index=True)
