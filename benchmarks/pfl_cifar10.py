"""What does pfl-research's benchmark cost: CIFAR-10, cohorts of 50 of 1,000 users, beside others?

The setting is that of arXiv 2404.06430: users of 50 samples, one local epoch in batches of 10 at
η = 0.1, the mean of the users' models, and their CNN. A loop in plain PyTorch and, with the Python
of an environment of its own, pfl itself (``uv pip install "pfl[pytorch]"``) have the same users,
cohorts and initial model; the loop also has the same orders of samples. All take turns by rounds,
and one thread each; seconds are the processor's.
"""

import copy
import json
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil
import torch
from common import options, random_data, show
from fedavg import Way, loop, turns
from models import simple_cnn
from torch import nn

from ngo.data.download import data_root
from ngo.data.loading import load

USERS, COHORT, SAMPLES, B, LR = 1000, 50, 50, 10, 0.1
HOW = {"lr": LR, "b": B, "epochs": 1}
SCORED = (1, 10, 20, 30, 60, 100, 150)
SEEDS = ("seed 0", "seed 1", "seed 2")


def initial(seed: int) -> nn.Module:
    """Their CNN with Glorot's initial weights."""
    torch.manual_seed(seed)
    made = simple_cnn()
    for parameter in filter(lambda each: each.dim() > 1, made.parameters()):
        nn.init.xavier_uniform_(parameter)
    return made


def pfl(python: Path, server: nn.Module, train, test, parts, cohort_size: int, folder: str) -> Way:
    """Rounds by pfl, in a process that ends with this one."""
    file = Path(folder, "setting.pt")
    torch.save((server, train, test, torch.from_numpy(np.stack(parts)), cohort_size, B, LR), file)
    command = [python, Path(__file__).with_name("pfl_itself.py"), file]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)

    def way(cohort: Sequence[int], score: bool) -> list[float]:
        print(json.dumps([*cohort, *([1] if score else [])]), file=process.stdin, flush=True)
        if not (answer := process.stdout.readline()):
            raise SystemExit("pfl ended; standard error says why")
        return json.loads(answer)

    return way


def main() -> None:
    """Print samples a second in 30 rounds, and accuracies in 150 rounds of three seeds."""
    args = options(__doc__, parts=("seconds", *SEEDS), pfl="the Python of an environment with pfl")
    users, m = (20, 2) if args.quick else (USERS, COHORT)
    if args.quick:
        data = random_data("cifar10", (3, 32, 32), (users * SAMPLES, 100), "cpu")
    else:
        data = load("cifar10", data_root())
    train = data.normalised(data.train_inputs), data.train_targets
    test = data.normalised(data.test_inputs), data.test_targets
    for part in args.parts:
        seed, timed = int(part[-1:]) if part in SEEDS else 0, part == "seconds"
        rounds = range(1, 4) if args.quick else SCORED[:4] if timed else SCORED
        parts = list(np.random.default_rng(seed).permutation(users * SAMPLES).reshape(users, -1))
        server, *given = initial(seed), train, test, parts
        ways = {"loop": loop(copy.deepcopy(server), *given, seed, **HOW)}
        with tempfile.TemporaryDirectory() as folder:
            if args.pfl:
                ways["pfl"] = pfl(args.pfl, server, *given, m, folder)
            taken, rows = turns(server, *given, seed, ways, m, rounds, **HOW)
            own = psutil.Process()
            megabytes = [each.memory_info().rss / 1e6 for each in (own, *own.children())]
        print(f"\n{part}\n")
        if timed:
            rates = {way: m * SAMPLES / statistics.median(each[1:]) for way, each in taken.items()}
            columns = ("way", "samples a second", "NGO's, of this")
            table = [(way, rate, rates["ngo"] / rate) for way, rate in rates.items()]
            show([dict(zip(columns, row, strict=True)) for row in table])
        show(rows)
        print("MB, with the images; NGO and the loop, then pfl:", *map(round, megabytes))


if __name__ == "__main__":
    main()
