"""What do cohorts cost: a step of 50 of 10,000 users, beside one of 50 of 100?

Users have 50 random images, in batches of 10 for MNIST's CNN, or for pfl-research's for CIFAR-10; a
round is 5 steps, with a server. Memory is the process's largest in 40 rounds, or 10 of the latter,
without the images and their indices.
"""

from multiprocessing import get_context

import psutil
from common import Step, compare, learning, options, random_data, show
from models import simple_cnn

from ngo.models.model import Model
from ngo.training.fit_inputs import model_of
from ngo.training.run import stepper_of

USERS, H = (100, 10_000), 5
LINE = {"method": "diloco", "outer_lr": 1.0, "outer_momentum": 0.0, "local_steps": H}


def model(name: str) -> str | Model:
    """A model by name; ``simple_cnn`` as a user would bring it."""
    if name != "simple_cnn":
        return name
    return model_of(simple_cnn(), random_data(name, (3, 32, 32), (1, 1), "cpu"), "classification")


def rounds(name: str, users: int, device: str, count: int = 1) -> Step:
    """The next rounds of a run."""
    spec, problem = learning(model(name), users, 10, device, 5, participants=50, **LINE)
    own = problem.data.train_inputs, problem.data.train_targets, *problem.parts
    data, run, taken = sum(x.nbytes for x in own), stepper_of(spec, problem, ()), []

    def step() -> float:
        for _ in range(count * H):
            run.advance()
            taken.append(psutil.Process().memory_info().rss - data)
        return max(taken) / 1e6

    return step


def memory(name: str, users: int, device: str, count: int) -> float:
    """Megabytes, in a process of its own."""
    return rounds(name, users, device, count)()


def main() -> None:
    """Print both costs."""
    args = options(__doc__, parts=("mnist_cnn", "simple_cnn"))
    users = (100, 200) if args.quick else USERS
    for name in args.parts:
        ways = {f"{n:,} users": rounds(name, n, args.device) for n in users}
        rows = compare(ways, "100 users", args, H)
        ways.clear()
        for row, n in zip(rows, users, strict=True):
            with get_context("spawn").Pool(1) as pool:
                count = 1 if args.quick else 40 if name == "mnist_cnn" else 10
                row["MB"] = pool.apply(memory, (name, n, args.device, count))
            row["of 100 users' MB"] = row["MB"] / rows[0]["MB"]
        print(f"\n{name}\n")
        show(rows)


if __name__ == "__main__":
    main()
