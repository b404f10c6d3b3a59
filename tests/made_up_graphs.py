"""Made-up metrics of runs with late messages, and of graphs of several sizes."""

from made_up import BOTH, SEEDS, metrics, none_lost, run

BEST = {(1, 1.0): 0.4, (1, 0.9): 0.2, (5, 1.0): 0.1, (5, 0.9): 0.1}
"""The best γ at each delay and p."""


def delays(lost=none_lost):
    """Runs for the figure of delays: NGO is above gossip by 2τ points."""
    late = (
        run(0.4 + (p < 1) * tau / 50, 1.0 + tau, seed=s, diverged=lost(s), method="delayed",
            p=p, delay=tau)
        for p in (1.0, 0.9) for tau in (1, 5) for s in SEEDS
    )  # fmt: skip
    return metrics(*(run(0.4, 1.0, seed=s, method=q) for q in BOTH for s in SEEDS), *late)


def tuned_delays():
    """Late runs at three γ: 60 % at the best, 50 % at the others."""
    return metrics(
        *(run(score := 0.6 if gamma == best else 0.5, seed=s, method="delayed", p=p, delay=delay,
              gamma=gamma, holdout_accuracy=score)
          for (delay, p), best in BEST.items() for gamma in (0.1, 0.2, 0.4) for s in SEEDS)
    )  # fmt: skip


def graphs_of_sizes(lost=none_lost):
    """Runs for Figure S3: the larger the graph's gap, the higher the accuracy."""
    return metrics(*(
        run(0.4 + 0.1 * k + (q == "ngo") * n / 200, seed=s, diverged=lost(s), method=q,
            topology=t, workers=n, batch_size=8)
        for q in BOTH for k, t in enumerate(("ring", "random", "complete"))
        for n in (4, 16) for s in SEEDS
    ))  # fmt: skip
