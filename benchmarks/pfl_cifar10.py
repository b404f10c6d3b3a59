"""What does pfl-research's benchmark cost: CIFAR-10, cohorts of 50 of 1,000 users, beside PyTorch?

The setting is that of arXiv 2404.06430: users of 50 samples, one local epoch in batches of 10 at
η = 0.1, the mean of the users' models, and their CNN. The loop in plain PyTorch has the same users,
cohorts, orders and initial model. Both take turns by rounds, and one thread each; seconds are the
processor's.
"""

import copy
import os
import statistics
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import psutil
import torch
from common import options, random_data, show
from fedavg import accuracy, one_round
from models import simple_cnn, spent

import ngo
from ngo.common.seeding import torch_stream
from ngo.data.loading import load

USERS, COHORT, SAMPLES, B, LR = 1000, 50, 50, 10, 0.1


def initial() -> torch.nn.Module:
    """Their CNN with Glorot's initial weights."""
    torch.manual_seed(0)
    made = simple_cnn()
    for parameter in filter(lambda each: each.dim() > 1, made.parameters()):
        torch.nn.init.xavier_uniform_(parameter)
    return made


def main() -> None:
    """Print samples a second, then accuracy by round, the loop's as far as it is timed."""
    args = options(__doc__)
    users, cohort = (20, 2) if args.quick else (USERS, COHORT)
    if args.quick:
        data = random_data("cifar10", (3, 32, 32), (users * SAMPLES, 100), "cpu")
    else:
        data = load("cifar10", Path(os.environ.get("NGO_DATA", "data")))
    train = data.normalised(data.train_inputs), data.train_targets
    test = data.normalised(data.test_inputs), data.test_targets
    parts = list(np.random.default_rng(0).permutation(users * SAMPLES).reshape(users, -1))
    rounds, timed = (3, 3) if args.quick else (150, 30)
    server, taken, rows = initial(), defaultdict[str, list[float]](list), list[dict]()
    orders = [torch_stream(0, "batches", i) for i in range(users)]
    plain, steps, passes = copy.deepcopy(server), SAMPLES // B, rounds * cohort / users
    start: list[float] = []

    def on_step(state: ngo.RunState) -> None:
        k, ended = divmod(state.step, steps)
        if ended:
            return
        if k <= timed:
            taken["ngo"] += [time.process_time() - before for before in start]
            how = {"lr": LR, "b": B, "epochs": 1}
            taken["loop"].append(
                spent(lambda: one_round(plain, train, parts, state.workers, orders, **how))
            )
        if k in (1, 10, 20, 30, 60, 100, rounds):
            rows.append({"round": k, "ngo": accuracy(state.consensus(), *test)})
            if k <= timed:
                rows[-1]["loop"] = accuracy(plain.eval(), *test)
                plain.train()
        start[:] = [time.process_time()]

    ngo.fit(
        *(server, train, test), partition=parts, workers=users, participants=cohort, lr=LR,
        method="diloco", outer_lr=1, outer_momentum=0, local_steps=steps, batch_size=B, threads=1,
        epochs=passes, eval_every=passes, eval_workers=1, progress=False, on_step=on_step,
    )  # fmt: skip
    found = {way: cohort * SAMPLES / statistics.median(each) for way, each in taken.items()}
    show([{"way": way, "samples a second": found[way], "of loop's": found[way] / found["loop"]}
          for way in found])  # fmt: skip
    show(rows)
    print(f"{psutil.Process().memory_info().rss / 1e6:,.0f} MB, with the images")


if __name__ == "__main__":
    main()
