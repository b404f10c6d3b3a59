"""Is FedAvg what a loop in plain PyTorch gives: accuracy by round, 10 of 100 clients, on MNIST?

The setting is that of McMahan et al. (2017): two classes a client, 5 local epochs, batches of 50,
their network 2NN. The loop has the same clients, initial model, cohorts and orders of samples.
"""

import copy
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch
from common import options, show
from models import spent
from torch import nn

import ngo
from ngo.common.seeding import torch_stream
from ngo.data.download import data_root
from ngo.data.loading import load
from ngo.data.partition import shards
from ngo.models.layers import fully_connected

CLIENTS, M, E, B, LR = 100, 10, 5, 50, 0.1
ROUNDS = (1, 2, 3, 5, 10, 15, 20, 25, 30)
SHARDS = {"shards": 2 * CLIENTS, "shards_per_worker": 2}

#: (cohort, whether to score) → a round's seconds, and then the accuracy.
Way = Callable[[Sequence[int], bool], list[float]]


def network() -> nn.Module:
    """2NN: two hidden layers of 200."""
    return nn.Sequential(nn.Flatten(), *fully_connected(784, 200, 200, 10))


@torch.no_grad()
def accuracy(model: nn.Module, X: torch.Tensor, y: torch.Tensor) -> float:
    """The share of right classes."""
    found = torch.cat([model(x).argmax(1) for x in X.split(500)])
    return float((found == y).double().mean())


def one_round(server, train, parts, cohort, orders, *, lr, b, epochs) -> None:
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


def loop(server: nn.Module, train, test, parts, seed: int, **how: float) -> Way:
    """Rounds in plain PyTorch; ``how`` are the last arguments of ``one_round``."""
    orders = [torch_stream(seed, "batches", i) for i in range(len(parts))]

    def way(cohort: Sequence[int], score: bool) -> list[float]:
        seconds = spent(partial(one_round, server.train(), train, parts, cohort, orders, **how))
        return [seconds, *([accuracy(server.eval(), *test)] if score else [])]

    return way


def turns(
    server: nn.Module, train, test, parts, seed: int, ways: Mapping[str, Way],
    m: int, rounds: Collection[int], *, lr: float, b: int, epochs: int,
):  # fmt: skip
    """The seconds of each round of m clients, and the accuracies after some, of NGO and others."""
    taken, rows, start = defaultdict[str, list[float]](list), list[dict](), time.process_time()
    steps, passes = epochs * len(parts[0]) // b, max(rounds) * epochs * m / len(parts)

    def on_step(state: ngo.RunState) -> None:
        nonlocal start
        k, rest = divmod(state.step, steps)
        if rest:
            return
        taken["ngo"].append(time.process_time() - start)
        if score := k in rounds:
            rows.append({"round": k, "ngo": accuracy(state.consensus(), *test)})
        for name, way in ways.items():
            seconds, *found = way([int(i) for i in state.workers], score)
            taken[name].append(seconds)
            if score:
                rows[-1][name] = found[0]
        start = time.process_time()

    ngo.fit(
        *(server, train, test), partition=parts, participants=m, lr=lr, seed=seed, threads=1,
        method="diloco", outer_lr=1, outer_momentum=0, local_steps=steps, batch_size=b,
        epochs=passes, eval_every=passes, eval_workers=1, progress=False, on_step=on_step,
    )  # fmt: skip
    return taken, rows


def main() -> None:
    """Print the mean accuracies of the seeds by round, and how far a pair is apart at most."""
    args = options(__doc__)
    torch.set_num_threads(1)  # the fastest for small batches
    data = load("digits" if args.quick else "mnist", data_root())
    train = data.train_inputs / 255, data.train_targets
    test = data.test_inputs / 255, data.test_targets
    how = {"lr": LR, "b": min(B, len(train[1]) // CLIENTS), "epochs": E}
    rows, rounds = list[dict](), ROUNDS[:2] if args.quick else ROUNDS
    for seed in (0,) if args.quick else (0, 1, 2):
        torch.manual_seed(seed)
        generator = np.random.default_rng(seed)
        server, parts = network(), shards(train[1], CLIENTS, **SHARDS, generator=generator)
        given = train, test, parts, seed
        ways = {"loop": loop(copy.deepcopy(server), *given, **how)}
        rows += turns(server, *given, ways, M, rounds, **how)[1]
    found = pd.DataFrame(rows)
    found["apart"] = (found["ngo"] - found["loop"]).abs()
    each = {"ngo": "mean", "loop": "mean", "apart": "max"}
    show(found.groupby("round", as_index=False).agg(each).to_dict("records"))


if __name__ == "__main__":
    main()
