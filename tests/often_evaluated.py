"""Made-up metrics of runs that are evaluated often, for the curves of Figure 8."""

import pandas as pd
from made_up import BOTH, FACTS, FIXED, SEEDS, none_lost


def often(lost=none_lost):
    """Runs for the curves of Figure 8: NGO's accuracy goes up and down at γ = 0.5."""
    runs = [
        (seed, method, gamma, k, 0.5 + (-1) ** k * 0.2 * (method == "ngo") * (gamma == 0.5))
        for seed in SEEDS for method in BOTH for gamma in (0.1, 0.5) for k in range(8)
    ]  # fmt: skip
    return pd.DataFrame(
        {**FACTS, **FIXED.get(method, {}), "method": method, "gamma": gamma, "seed": seed,
         "run": f"{method}-{gamma}-{seed}", "step": 10 * k, "epoch": float(k), "V": 1.0,
         "consensus_accuracy": accuracy + k / 100, "consensus_loss": 1.0, "workers_loss_mean": 2.0,
         "diverged": lost(seed) and k == 7}
        for seed, method, gamma, k, accuracy in runs
    )  # fmt: skip
