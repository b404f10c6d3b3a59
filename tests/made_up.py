"""Made-up metrics with known numbers, for tables and figures."""

import math

import numpy as np
import pandas as pd

TABLE1 = "config/reference/table1_classification.csv"
TABLE_S1 = "config/reference/tableS1_spectral_gap.csv"
TABLE_S2 = "config/reference/tableS2_vae_elbo.csv"
TABLE_A1 = "config/reference/tableA1_mnist_hitting_time.csv"
TABLE_A2 = "config/reference/tableA2_cifar10_loss.csv"

SEEDS = (0, 1, 2)
BOTH = ("gossip", "ngo")
COUPLINGS = ((1.0, 0.1), (0.9, 0.1), (1.0, 1.0))
THREE = ("centralized", *BOTH)

FACTS = {
    "dataset": "digits", "partition": "shards", "workers": 10, "topology": "ring", "u": math.nan,
    "method": "ngo", "p": 0.9, "gamma": 0.1, "local_steps": 1, "v_threshold": math.nan,
    "delay": 0,
    "train_samples": 1437, "classes_covered": 10.0, "parameters": 100,
}  # fmt: skip
FIXED = {
    "centralized": {"topology": None, "p": math.nan, "gamma": math.nan},
    "gossip": {"p": 1.0},
}


def cell(topology, method, scores, *, partition="iid", dataset="mnist", diverged=(), **fields):
    """Two evaluations of the runs of a table's cell, one run per seed; the first is at chance.

    ``scores`` are final accuracies; losses are 1 − accuracy.
    """
    rows = []
    for seed, score in enumerate(scores):
        for step, accuracy in ((0, 0.1), (9, score)):
            rows.append(
                {
                    "run": f"{dataset}-{partition}-{topology}-{method}-{seed}-{fields}",
                    "dataset": dataset,
                    "partition": partition,
                    "topology": topology,
                    "method": method,
                    "seed": seed,
                    "classes_covered": 10 - seed,
                    "step": step,
                    "epoch": step / 3,
                    "consensus_accuracy": accuracy,
                    "workers_accuracy_mean": accuracy - 0.05,
                    "consensus_loss": 1 - accuracy,
                    "workers_loss_mean": 1.5 - accuracy,
                    "train_loss": 0.5 - accuracy,
                    "diverged": step == 9 and seed in diverged,
                    **fields,
                }
            )
    return rows


def tuned_cell(topology, method, gamma, held_out, test, **fields):
    """The runs of a cell at one p and γ, a seed for each held-out and test accuracy."""
    p = {"gossip": 1.0, "ngo": 0.9}.get(method)
    rows = cell(topology, method, test, gamma=gamma, partition="shards", **{"p": p, **fields})
    return [{**row, "holdout_accuracy": held_out[row["seed"]]} for row in rows]


def tuned_runs():
    """Gossip ties at γ = 0.1 and 0.3; NGO is best at 0.3, and has a diverged run at 1."""
    return pd.DataFrame(
        tuned_cell(None, "centralized", None, [0.8] * 3, [0.85] * 3)
        + tuned_cell("ring", "gossip", 0.1, [0.5, 0.6, 0.7], [0.55, 0.65, 0.75])
        + tuned_cell("ring", "gossip", 0.3, [0.5, 0.6, 0.7], [0.95, 0.95, 0.95])
        + tuned_cell("ring", "gossip", 1.0, [0.4, 0.5, 0.6], [0.99, 0.99, 0.99])
        + tuned_cell("ring", "ngo", 0.1, [0.5, 0.6, 0.7], [0.6, 0.6, 0.6])
        + tuned_cell("ring", "ngo", 0.3, [0.6, 0.7, 0.8], [0.57, 0.66, 0.75])
        + tuned_cell("ring", "ngo", 1.0, [0.9, 0.9, 0.9], [0.9, 0.9, 0.9], diverged=[2])
        + tuned_cell("ring", "ngo", 0.1, [0.4, 0.5, 0.6], [0.6, 0.6, 0.6], p=0.7)
    )


def run(accuracy, V=1.0, *, seed=0, diverged=False, **given):
    """Three evaluations of a run: its best accuracy is the second one, its last is 0.1 lower."""
    facts = {**FACTS, **FIXED.get(given.get("method"), {}), **given, "seed": seed}
    facts["run"] = "-".join(str(facts[name]) for name in (*given, "seed"))
    rows = []
    for k, (score, index) in enumerate(((0.1, 0.0), (accuracy + 0.1, V), (accuracy, V))):
        lost = diverged and k == 2
        rows.append(
            {
                **facts,
                "step": 10 * k,
                "epoch": float(k),
                "V": math.nan if lost else index,
                "consensus_accuracy": score,
                "consensus_loss": math.nan if lost else 1 / (k + 1),
                "workers_loss_mean": math.nan if lost else 2 / (k + 1),
                "messages": 200 * k,
                "bytes_sent": 200 * k * facts["parameters"] * 4,
                "diverged": lost,
            }
        )
    return rows


def metrics(*runs):
    return pd.DataFrame([row for rows in runs for row in rows])


def none_lost(seed):
    return False


def thresholds(lost=none_lost):
    """Runs for Figure 1; ``lost`` says whether those of a seed diverge."""
    return metrics(*(
        run(0.5, v, seed=s, diverged=lost(s), method="gossip_until", v_threshold=v, workers=5,
            dataset=d)
        for d in ("least_squares", "sine") for v in (1.0, 5.0) for s in SEEDS
    ))  # fmt: skip


def exponents(lost=none_lost):
    """Runs for Figure 4: p = 0.7 is best at γ = 0.1, p = 0.9 and gossip at 0.3."""
    best = {1.0: 0.3, 0.9: 0.3, 0.7: 0.1}
    return metrics(*(
        run(0.5 + 0.1 * (g == best[p]), 8 * p**2 / g, seed=s, p=p, gamma=g,
            method="gossip" if p == 1 else "ngo", diverged=lost(s) and p < 1,
            holdout_accuracy=0.4 + 0.1 * (g == best[p]))
        for p in best for g in (0.1, 0.3) for s in SEEDS
    ))  # fmt: skip


def pulls(lost=none_lost):
    """Runs of gossip at γ and 2γ, which gains 5 points, and of NGO, which gains 4 and 9."""
    cases = [("gossip", 1, 0.2, 0.5), ("gossip", 1, 0.4, 0.55), ("ngo", 0.9, 0.2, 0.54),
             ("ngo", 0.8, 0.2, 0.59)]  # fmt: skip
    return metrics(*(
        run(score + s / 10, 1.0, seed=s, diverged=lost(s) and q == "ngo", method=q, topology=graph,
            p=p, gamma=g)
        for q, p, g, score in cases for graph in ("complete", "ring") for s in SEEDS
    ))  # fmt: skip


def random_graphs(lost=none_lost):
    """Runs for Figure 5."""
    drawn = (
        run(0.5, 2 / u, seed=s, diverged=lost(s), method=q, topology="random", u=u)
        for q in BOTH for u in (0.2, 0.5) for s in SEEDS
    )  # fmt: skip
    ring = (run(0.4, 12, seed=s, method=q) for q in BOTH for s in SEEDS)
    return metrics(*(run(0.7, 0.0, seed=s, method="centralized") for s in SEEDS), *drawn, *ring)


def periods(lost=none_lost):
    """Runs for Figure 6; local SGD sends less."""
    runs = []
    for partition, s in ((x, s) for x in ("shards", "iid") for s in SEEDS):
        runs += [run(0.6, 1.0, seed=s, method=q, partition=partition) for q in BOTH]
        for p, gamma, h in ((p, g, h) for p, g in COUPLINGS for h in (2, 5)):
            given = {"p": p, "gamma": gamma, "local_steps": h, "partition": partition}
            rows = run(0.4, 9.0, seed=s, diverged=lost(s), method="local_sgd", **given)
            runs.append([{**row, "bytes_sent": row["bytes_sent"] // h} for row in rows])
    return metrics(*runs)


def sizes(lost=none_lost):
    """Runs for Figure 7. The seeds differ by 10 points, the methods by n."""
    return metrics(*(
        run(0.5 + (q == "ngo") * n / 100 + s / 10, 1.0, seed=s, diverged=lost(s), method=q,
            workers=n, samples_per_worker=80)
        for q in THREE for n in (4, 16) for s in SEEDS
    ))  # fmt: skip


def rates(lost=none_lost):
    """Runs for Figure 8."""
    return metrics(
        *(run(0.5, 2.0, seed=s, method=q, topology=t) for q in BOTH
          for t in ("random", "complete") for s in SEEDS),
        *(run(0.4, 3.0, seed=s, diverged=lost(s), method=q, gamma=g)
          for q in BOTH for g in (0.1, 0.5) for s in SEEDS),
    )  # fmt: skip


def levels(lost=none_lost):
    """Runs for Figure S4: accuracy falls with log V within a seed; the seeds' levels hide it."""
    return metrics(*(
        run(0.5 - 0.02 * k + 0.1 * s, 10.0**k * 100**s, seed=s, diverged=lost(s) and k == 0,
            method=q, topology=t)
        for s in SEEDS
        for k, (q, t) in enumerate((q, t) for q in BOTH for t in ("ring", "random", "complete"))
    ))  # fmt: skip


def sines(lost=none_lost):
    """Runs for Figure S6."""
    return metrics(
        *(run(math.nan, 1.0, seed=s, diverged=lost(s), method=q) for q in THREE for s in SEEDS)
    )


def sine_fits(lost=False):
    """Fits for Figure S6; that of NGO diverged if ``lost``."""
    x = np.linspace(-3, 3, 5)
    parts = []
    for method in THREE:
        for who, worker, kind in (
            ("consensus", -1, "prediction"), ("worker", 0, "prediction"), ("data", -1, "target")
        ):  # fmt: skip
            y = np.full(5, math.nan) if lost and method == "ngo" else np.sin(x)
            facts = {"method": method, "seed": 0, "who": who, "worker": worker, "kind": kind}
            parts.append(pd.DataFrame({**facts, "x": x, "y": y}))
    return pd.concat(parts)


def aligned(seeds=2, diverged=()):
    """Alignment for Figure 2: three workers at three scales."""
    rows = [
        {"run": f"r{seed}", "dataset": "digits", "method": "gossip", "topology": "ring",
         "seed": seed, "diverged": seed in diverged, "scale": scale, "worker": worker,
         "V": math.nan if seed in diverged else (1 + seed) * scale**2,
         "cosine": math.nan if seed in diverged else 1 / (1 + scale) + 0.01 * worker,
         "relative_norm": math.nan if seed in diverged else 1 + scale}
        for seed in range(seeds) for scale in (0.0, 1.0, 2.0) for worker in range(-1, 3)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def pictures(workers, shape, steps=(2, 200), dataset="digits"):
    """Samples for Figures S5 and A1: three random images of each kind and model."""
    random = np.random.default_rng(0)
    tables = []
    for step in steps:
        for kind, worker in [("original", -1), ("reconstruction", -1)] + [
            ("generation", i) for i in range(-1, workers)
        ]:
            names = ["image", "channel", "row", "column"]
            index = pd.MultiIndex.from_product(map(range, (3, *shape)), names=names)
            facts = {"run": f"{dataset}-0", "dataset": dataset, "seed": 0, "step": step}
            facts |= {"epochs": 12.0, "reconstruction_loss": math.nan if step == 2 else 150.0}
            facts |= {"class_means_loss": 172.0, "workers_variance": 0.1 / step}
            pixels = index.to_frame(index=False)
            pixels["value"] = random.integers(0, 256, len(pixels))
            own = {"diverged": step == 2, "kind": kind, "worker": worker}
            tables.append(pd.DataFrame({**facts, **own, **pixels}))
    return pd.concat(tables, ignore_index=True)


def labels(axis):
    """The labels in the legend of an axis."""
    return axis.get_legend_handles_labels()[1]


def panel(figure, title):
    """The panel with this end of its title."""
    return next(axis for axis in figure.axes if axis.get_title().endswith(title))


def line(axis, label):
    """The x and y values of the line with this label."""
    handles, names = axis.get_legend_handles_labels()
    found = handles[names.index(label)]
    found = getattr(found, "lines", [found])[0]
    return list(found.get_xdata()), list(found.get_ydata())


def seeds_of(values, *, diverged=(), name="V"):
    """One evaluation of each of some seeds."""
    seeds = range(len(values))
    return pd.DataFrame(
        {
            "run": [f"r{seed}" for seed in seeds],
            "seed": seeds,
            "method": "ngo",
            name: values,
            "diverged": [seed in diverged for seed in seeds],
        }
    )


BEST_GAMMA = {(1, 1.0): 0.4, (1, 0.9): 0.2, (5, 1.0): 0.1, (5, 0.9): 0.1}
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
          for (delay, p), best in BEST_GAMMA.items() for gamma in (0.1, 0.2, 0.4) for s in SEEDS)
    )  # fmt: skip


def graphs_of_sizes(lost=none_lost):
    """Runs for Figure S3: the larger the graph's gap, the higher the accuracy."""
    return metrics(*(
        run(0.4 + 0.1 * k + (q == "ngo") * n / 200, seed=s, diverged=lost(s), method=q,
            topology=t, workers=n, batch_size=8)
        for q in BOTH for k, t in enumerate(("ring", "random", "complete"))
        for n in (4, 16) for s in SEEDS
    ))  # fmt: skip


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
