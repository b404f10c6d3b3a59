"""What does pfl-research's benchmark cost: CIFAR-10, cohorts of 50 of 1,000 users, beside others?

The setting is that of arXiv 2404.06430: users of 50 samples, one local epoch in batches of 10 at
η = 0.1, the mean of the users' models, and their CNN. A loop in plain PyTorch and, with the Python
of an environment of its own, pfl itself (``uv pip install "pfl[pytorch]"``) have the same users,
cohorts and initial model; the loop also has the same orders of samples. All take turns by rounds,
and one thread each; seconds are the processor's.
"""

import copy
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import torch
from common import options, random_data, show
from fedavg import accuracy, one_round
from models import simple_cnn, spent
from torch import nn

import ngo
from ngo.common.seeding import torch_stream
from ngo.data.loading import load

USERS, COHORT, SAMPLES, B, LR = 1000, 50, 50, 10, 0.1
SEEDS = ("seed 0", "seed 1", "seed 2")

#: (cohort, whether to score) → a round's seconds, and then the accuracy.
Way = Callable[[Sequence[int], bool], list[float]]


def initial(seed: int) -> nn.Module:
    """Their CNN with Glorot's initial weights."""
    torch.manual_seed(seed)
    made = simple_cnn()
    for parameter in filter(lambda each: each.dim() > 1, made.parameters()):
        nn.init.xavier_uniform_(parameter)
    return made


def loop(server: nn.Module, train, test, parts, seed: int) -> Way:
    """Rounds in plain PyTorch."""
    orders = [torch_stream(seed, "batches", i) for i in range(len(parts))]

    def way(cohort: Sequence[int], score: bool) -> list[float]:
        how = {"lr": LR, "b": B, "epochs": 1}
        seconds = spent(partial(one_round, server.train(), train, parts, cohort, orders, **how))
        return [seconds, *([accuracy(server.eval(), *test)] if score else [])]

    return way


def pfl(python: Path, server: nn.Module, train, test, parts, cohort_size: int, folder: str) -> Way:
    """Rounds by pfl, in a process that ends with this one."""
    arrays = {"X": train[0], "y": train[1], "test_X": test[0], "test_y": test[1], "parts": parts}
    np.savez(Path(folder, "arrays.npz"), **arrays)
    torch.save(server, Path(folder, "module.pt"))
    script = Path(__file__).with_name("pfl_itself.py")
    command = [python, script, folder, *map(str, (cohort_size, B, LR))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)

    def way(cohort: Sequence[int], score: bool) -> list[float]:
        print(json.dumps([*cohort, *([1] if score else [])]), file=process.stdin, flush=True)
        if not (answer := process.stdout.readline()):
            raise SystemExit("pfl ended; standard error says why")
        return json.loads(answer)

    return way


def turns(
    server: nn.Module, train, test, parts, rounds: int, m: int, seed: int, ways: Mapping[str, Way]
):
    """The seconds of each round, and the accuracies after some, of NGO and other ways."""
    taken, rows, start = defaultdict[str, list[float]](list), list[dict](), list[float]()
    steps, passes, users = SAMPLES // B, rounds * m / len(parts), len(parts)

    def on_step(state: ngo.RunState) -> None:
        k, ended = divmod(state.step, steps)
        if ended:
            return
        taken["ngo"] += [time.process_time() - before for before in start]
        score = k in (1, 10, 20, 30, 60, 100, rounds)
        if score:
            rows.append({"round": k, "ngo": accuracy(state.consensus(), *test)})
        for name, way in ways.items():
            seconds, *found = way([int(i) for i in state.workers], score)
            taken[name].append(seconds)
            if score:
                rows[-1][name] = found[0]
        start[:] = [time.process_time()]

    ngo.fit(
        *(server, train, test), partition=parts, workers=users, participants=m, lr=LR, seed=seed,
        method="diloco", outer_lr=1, outer_momentum=0, local_steps=steps, batch_size=B, threads=1,
        epochs=passes, eval_every=passes, eval_workers=1, progress=False, on_step=on_step,
    )  # fmt: skip
    return taken, rows


def main() -> None:
    """Print samples a second in 30 rounds, and accuracies in 150 rounds of three seeds."""
    args = options(__doc__, parts=("seconds", *SEEDS), pfl="the Python of an environment with pfl")
    users, m = (20, 2) if args.quick else (USERS, COHORT)
    if args.quick:
        data = random_data("cifar10", (3, 32, 32), (users * SAMPLES, 100), "cpu")
    else:
        data = load("cifar10", Path(os.environ.get("NGO_DATA", "data")))
    train = data.normalised(data.train_inputs), data.train_targets
    test = data.normalised(data.test_inputs), data.test_targets
    for part in args.parts:
        seed, timed = int(part[-1:]) if part in SEEDS else 0, part == "seconds"
        rounds = 3 if args.quick else 30 if timed else 150
        parts = list(np.random.default_rng(seed).permutation(users * SAMPLES).reshape(users, -1))
        given = initial(seed), train, test, parts
        ways = {"loop": loop(copy.deepcopy(given[0]), *given[1:], seed)}
        with tempfile.TemporaryDirectory() as folder:
            if args.pfl:
                ways["pfl"] = pfl(args.pfl, *given, m, folder)
            taken, rows = turns(*given, rounds, m, seed, ways)
            own = psutil.Process()
            megabytes = [each.memory_info().rss / 1e6 for each in (own, *own.children())]
        print(f"\n{part}\n")
        if timed:
            found = {
                way: m * SAMPLES / statistics.median(each[1 - rounds :])
                for way, each in taken.items()
            }
            ratio = {way: found["ngo"] / each for way, each in found.items()}
            columns = ("way", "samples a second", "NGO's, of this")
            table = [(way, found[way], ratio[way]) for way in found]
            show([dict(zip(columns, row, strict=True)) for row in table])
        show(rows)
        print("MB, with the images; NGO and the loop, then pfl:", *map(round, megabytes))


if __name__ == "__main__":
    main()
