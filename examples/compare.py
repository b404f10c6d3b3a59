"""Four methods on one problem, each with its best γ: a table and a plot. It takes seconds."""

import matplotlib.pyplot as plt
import pandas as pd
import torch
from sklearn.datasets import load_digits

import ngo

X, y = map(torch.tensor, load_digits(return_X_y=True))
X = X.float() / 16
train, test = (X[:1500], y[:1500]), (X[1500:], y[1500:])


def classifier():
    """A module whose initial parameters depend on the run's seed."""
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))


setting = {"workers": 15, "topology": "ring", "partition": "shards", "shards": 30, "epochs": 20}
setting |= {"lr": 0.2, "batch_size": 16, "holdout": 0.1, "progress": False}
grid = [{"gamma": gamma} for gamma in (0.125, 0.25, 0.5, 1, 1.4)]
cases = {"dsgd": [{}], "ngo": grid, "d2": grid, "gradient_tracking": grid}
runs = [
    ngo.fit(classifier, train, test, method=method, seed=seed, **case, **setting).metrics
    for method in cases
    for case in cases[method]
    for seed in range(3)
]
metrics = pd.concat(runs).set_index(["method", "gamma"])

ends = metrics.groupby(["method", "gamma", "seed"]).last()
held_out = ends["holdout_loss"].groupby(["method", "gamma"]).mean()
best = held_out.groupby("method").idxmin()  # each method's γ
columns = ["consensus_accuracy", "workers_accuracy_mean"]
print(ends.groupby(["method", "gamma"])[columns].mean().loc[best].round(3))

curves = metrics.loc[best].groupby(["method", "epoch"])[columns[1]].mean().unstack("method")
curves.plot(ylabel="mean accuracy of the workers", figsize=(7, 3), grid=True)
plt.savefig("compare.png", bbox_inches="tight")
