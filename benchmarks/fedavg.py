"""Is FedAvg what a loop in plain PyTorch gives: accuracy by round, 10 of 100 clients, on MNIST?

The setting is that of McMahan et al. (2017): two classes a client, 5 local epochs, batches of 50,
their network 2NN. The loop has the same clients, initial model, cohorts and orders of samples.
"""

import copy
import os
from pathlib import Path

import numpy as np
import torch
from common import options, show
from torch import nn

import ngo
from ngo.common.seeding import numpy_stream, torch_stream
from ngo.data.loading import load
from ngo.data.partition import shards
from ngo.models.layers import fully_connected

CLIENTS, M, E, B, LR, ROUNDS = 100, 10, 5, 50, 0.1, 30
SHARDS = {"shards": 2 * CLIENTS, "shards_per_worker": 2}


def network() -> nn.Module:
    """2NN: two hidden layers of 200."""
    return nn.Sequential(nn.Flatten(), *fully_connected(784, 200, 200, 10))


@torch.no_grad()
def accuracy(model: nn.Module, X: torch.Tensor, y: torch.Tensor) -> float:
    """The share of right classes."""
    found = torch.cat([model(x).argmax(1) for x in X.split(500)])
    return float((found == y).double().mean())


def one_round(server, train, parts, cohort, orders, *, lr=LR, b=B, epochs=E) -> None:
    """A round of FedAvg in plain PyTorch."""
    (X, y), models = train, []
    for i in cohort:
        model, own = copy.deepcopy(server), torch.from_numpy(parts[i])
        optimizer = torch.optim.SGD(model.parameters(), lr)
        for _ in range(epochs):
            for batch in own[torch.randperm(len(own), generator=orders[i])].split(b):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(X[batch]), y[batch]).backward()
                optimizer.step()
        models.append(model)
    with torch.no_grad():
        for mean, *each in zip(*(x.parameters() for x in (server, *models)), strict=True):
            mean.copy_(torch.stack(each).mean(0))


def loop(server, train, test, parts, b: int, rounds: int, seed: int) -> list[float]:
    """The accuracy after each round."""
    found = [accuracy(server, *test)]
    orders = [torch_stream(seed, "batches", i) for i in range(CLIENTS)]
    for k in range(rounds):
        cohort = sorted(numpy_stream(seed, "participants", k).choice(CLIENTS, M, replace=False))
        one_round(server, train, parts, cohort, orders, b=b)
        found.append(accuracy(server, *test))
    return found


def main() -> None:
    """Print the mean accuracies of the seeds by round, and how far a pair is apart at most."""
    args = options(__doc__)
    torch.set_num_threads(1)  # the fastest for small batches
    data = load("digits" if args.quick else "mnist", Path(os.environ.get("NGO_DATA", "data")))
    train = data.train_inputs / 255, data.train_targets
    test = data.test_inputs / 255, data.test_targets
    share, seeds, rounds = len(train[1]) // CLIENTS, (0, 1, 2), 2 if args.quick else ROUNDS
    b, found, rows = min(B, share), [], []
    for seed in seeds[:1] if args.quick else seeds:
        torch.manual_seed(seed)
        generator = np.random.default_rng(seed)
        server, parts = network(), shards(train[1], CLIENTS, **SHARDS, generator=generator)
        each = {"epochs": rounds * E * M / CLIENTS, "eval_every": E * M / CLIENTS}
        run = ngo.fit(
            *(server, train, test), partition=parts, seed=seed, participants=M, eval_workers=1,
            method="diloco", outer_lr=1, outer_momentum=0, local_steps=E * share // b,
            batch_size=b, lr=LR, progress=False, **each,
        )  # fmt: skip
        by_loop = loop(server, train, test, parts, b, rounds, seed)
        found.append([run.metrics["consensus_accuracy"], by_loop])
    (ours, plain), apart = np.mean(found, 0), np.ptp(found, 1).max(0)
    for k in (1, 2, 3, 5, 10, 15, 20, 25, 30):
        if k <= rounds:
            rows.append({"round": k, "ngo": ours[k], "loop": plain[k], "apart": apart[k]})
    show(rows)


if __name__ == "__main__":
    main()
