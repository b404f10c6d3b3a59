"""The figure and the table of the paper: figure.py SCORES FIGURE TABLE."""

import sys

import matplotlib.pyplot as plt
import pandas as pd

import verdicts

scores, figure, table = sys.argv[1:]
rows = pd.read_csv(scores)

axes = plt.figure(figsize=(4, 3), layout="constrained").subplots()
for method, runs in rows.groupby("method"):
    by_size = runs.pivot(index="seed", columns="step", values="accuracy")
    means = [verdicts.estimate(by_size[size]) for size in by_size]
    mean, half = [m.mean for m in means], [m.half_width for m in means]
    axes.errorbar(by_size.columns, mean, half, marker="o", capsize=2, label=method)
axes.set(xlabel="training images", ylabel="test accuracy (%)", xscale="log")
axes.set_xticks(sorted(rows["step"].unique()), labels=sorted(rows["step"].unique()))
axes.minorticks_off()
axes.legend(title="mean and 95 % interval")
axes.figure.savefig(figure, dpi=200)

ranked = verdicts.compare(rows, by="method", metric="accuracy")
ranked.frame.to_csv(table, index=False)
