"""What do cohorts cost: a step of 50 of 10,000 users, beside one of 50 of 100?

Users have 50 random images, in batches of 10 for MNIST's CNN; a round is 5 steps, with a server.
Memory is the process's largest in 40 rounds, without the images and their indices.
"""

from multiprocessing import get_context

import psutil
from common import Step, compare, learning, options, show

from ngo.training.run import stepper_of

USERS, H = (100, 10_000), 5
LINE = {"method": "diloco", "outer_lr": 1.0, "outer_momentum": 0.0, "local_steps": H}


def rounds(users: int, device: str, count: int = 1) -> Step:
    """The next rounds of a run."""
    spec, problem = learning("mnist_cnn", users, 10, device, 5, participants=50, **LINE)
    own = problem.data.train_inputs, problem.data.train_targets, *problem.parts
    data, run, taken = sum(x.nbytes for x in own), stepper_of(spec, problem, ()), []

    def step() -> float:
        for _ in range(count * H):
            run.advance()
            taken.append(psutil.Process().memory_info().rss - data)
        return max(taken) / 1e6

    return step


def memory(users: int, device: str, count: int) -> float:
    """Megabytes, in a process of its own."""
    return rounds(users, device, count)()


def main() -> None:
    """Print both costs."""
    args = options(__doc__)
    users = (100, 200) if args.quick else USERS
    ways = {f"{n:,} users": rounds(n, args.device) for n in users}
    rows = compare(ways, "100 users", args, H)
    for row, n in zip(rows, users, strict=True):
        with get_context("spawn").Pool(1) as pool:
            row["MB"] = pool.apply(memory, (n, args.device, 1 if args.quick else 40))
        row["of 100 users' MB"] = row["MB"] / rows[0]["MB"]
    show(rows)


if __name__ == "__main__":
    main()
