"""Made-up metrics with known numbers, for tables and figures."""

import math

import numpy as np
import pandas as pd
import torch
from stepping import mixing_matrix

from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import simulate
from ngo.gossip.topologies.static import ring

TABLE1 = "config/reference/table1_classification.csv"
TABLE_S1 = "config/reference/tableS1_spectral_gap.csv"
TABLE_S2 = "config/reference/tableS2_vae_elbo.csv"
TABLE_A1 = "config/reference/tableA1_mnist_hitting_time.csv"
TABLE_A2 = "config/reference/tableA2_cifar10_loss.csv"

SEEDS = (0, 1, 2)
BOTH = ("gossip", "ngo")
COUPLINGS = ((1.0, 0.1), (0.9, 0.1), (1.0, 1.0))
THREE = ("centralized", *BOTH)
ALGORITHMS = {"sgd": ("ngo", "sgd"), "momentum": ("ngo", "momentum"), "d2": ("d2", "sgd")}
LEVELS = {"sgd": 0.6, "momentum": 0.7, "d2": 0.75}
GAINS = {("power", 0.8): 0.03, ("capped", 0.8): 0.05}

FACTS = {
    "dataset": "digits", "partition": "shards", "workers": 10, "topology": "ring", "u": math.nan,
    "method": "ngo", "p": 0.9, "gamma": 0.1, "local_steps": 1, "v_threshold": math.nan,
    "delay": 0,
    "train_samples": 1437, "classes_covered": 10.0, "parameters": 100,
}  # fmt: skip
FIXED = {"centralized": {"topology": None, "p": math.nan, "gamma": math.nan}, "gossip": {"p": 1.0}}


def cell(topology, method, scores, *, partition="iid", dataset="mnist", diverged=(), **fields):
    """Two evaluations of the runs of a table's cell, one run per seed; the first is at chance.

    ``scores`` are final accuracies; losses are 1 − accuracy.
    """
    facts = {"dataset": dataset, "partition": partition, "topology": topology, "method": method}
    rows = []
    for seed, score in enumerate(scores):
        facts["run"] = f"{dataset}-{partition}-{topology}-{method}-{seed}-{fields}"
        facts |= {"seed": seed, "classes_covered": 10 - seed}
        for step, accuracy in ((0, 0.1), (9, score)):
            now = {"step": step, "epoch": step / 3, "diverged": step == 9 and seed in diverged}
            now |= {"consensus_accuracy": accuracy, "workers_accuracy_mean": accuracy - 0.05}
            now |= {"consensus_loss": 1 - accuracy, "workers_loss_mean": 1.5 - accuracy}
            rows.append({**facts, **now, "train_loss": 0.5 - accuracy, **fields})
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
        loss = math.nan if lost else 1 / (k + 1)
        now = {"step": 10 * k, "epoch": float(k), "V": math.nan if lost else index}
        now |= {"consensus_accuracy": score, "consensus_loss": loss, "workers_loss_mean": 2 * loss}
        now |= {"messages": 200 * k, "bytes_sent": 200 * k * facts["parameters"] * 4}
        rows.append({**facts, **now, "diverged": lost})
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
    runs = [run(math.nan, 1.0, seed=s, diverged=lost(s), method=q) for q in THREE for s in SEEDS]
    return metrics(*runs)


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
    rows = [(f"r{k}", k, "ngo", value, k in diverged) for k, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["run", "seed", "method", name, "diverged"])


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


def combinations(diverged=()):
    """Three methods, each linear, with NGO and capped, at two γ of which 0.4 is better.

    The gain of NGO is 3 points and that of the cap 5, but none with D². Seed k is k points better.
    """
    rows = []
    for algorithm, (method, rule) in ALGORITHMS.items():
        for coupling, p in (("power", 1.0), *GAINS):
            for gamma, worse in ((0.2, 0.1), (0.4, 0.0)):
                gain = 0 if algorithm == "d2" else GAINS.get((coupling, p), 0)
                scores = [LEVELS[algorithm] + gain - worse + 0.01 * seed for seed in range(4)]
                lost = (1,) if (algorithm, coupling, gamma) in diverged else ()
                name = "gossip" if (coupling, p, method) == ("power", 1.0, "ngo") else method
                found = cell(
                    "ring", name, scores, partition="shards", diverged=lost, local_rule=rule,
                    coupling=coupling, p=p, gamma=gamma, lr=0.05, bytes_sent=1e6, messages=10,
                )  # fmt: skip
                rows += [{**row, "holdout_accuracy": row["consensus_accuracy"]} for row in found]
    central = cell(
        None, "centralized", [0.8] * 4, partition="shards", local_rule="sgd", coupling=None,
        p=math.nan, gamma=math.nan, lr=0.05, bytes_sent=1e6, messages=10,
    )  # fmt: skip
    rows += [{**row, "holdout_accuracy": row["consensus_accuracy"]} for row in central]
    return pd.DataFrame(rows)


def rounds(V, seeds=range(8)):
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


def speeding_up():
    """Runs for Figure A2: in 10 steps, accuracy rises by 10 points with one worker, and with two by
    20 with gossip and by 40 with NGO; never above 99 %.
    """
    rates = {("centralized", 1): 0.1, ("gossip", 2): 0.2, ("ngo", 2): 0.4}
    rows = []
    for (method, n), rate in rates.items():
        for seed in SEEDS:
            facts = {**FACTS, **FIXED.get(method, {}), "method": method, "seed": seed}
            facts |= {"workers": n, "run": f"{method}-{n}-{seed}", "diverged": False, "lr": 0.1}
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
    n = 10
    X0 = torch.randn(n, 1, generator=torch_stream(0, "states"), dtype=torch.float64)
    W = mixing_matrix(ring(n))
    tables = []
    for p in exponents:
        for delay in delays:
            done = simulate(X0, W, p, gamma, rounds, delay)
            places = [range(rounds + 1), range(n)]
            index = pd.MultiIndex.from_product(places, names=["round", "worker"])
            table = index.to_frame(index=False).assign(x=done.states.numpy().ravel())
            facts = {"p": p, "delay": delay, "topology": "ring", "workers": n, "gamma": gamma}
            tables.append(pd.DataFrame({**facts, **table, "V": done.V.numpy()[table["round"]]}))
    return pd.concat(tables, ignore_index=True)
