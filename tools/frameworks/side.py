"""What each side of the comparison does: it solves one problem, records its states, and is timed.

A side is a program of one framework, in an environment that has it and NumPy. Its arguments are a
file of the problem, a file for its states, and the framework's method with its options, as JSON.
What a framework prints itself goes nowhere.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Problem:
    """A convex problem: worker i minimizes the mean loss of its samples, with full gradients.

    The loss of a sample is ½(a·x − b)² for ``least_squares``, and log(1 + exp(a·x)) − b a·x for
    ``logistic``. All arrays are float32.
    """

    loss: str
    A: np.ndarray  #: samples ``[n, m, d]``
    b: np.ndarray  #: targets ``[n, m]``, in {0, 1} for logistic regression
    W: np.ndarray  #: mixing matrix ``[n, n]``, or those of one period ``[period, n, n]``
    X0: np.ndarray  #: initial states ``[n, d]``
    topology: str  #: ngo's name of the graph
    lr: float
    steps: int

    @classmethod
    def read(cls, path: str) -> "Problem":
        """The problem in a file that ``write`` made."""
        with np.load(path) as file:
            values = {name: file[name] for name in file.files}
        return cls(**{k: v if v.ndim else v.item() for k, v in values.items()})

    def write(self, path: str) -> None:
        """Write the problem to a file."""
        np.savez(path, **vars(self))


def one_peer(W: np.ndarray) -> np.ndarray:
    """The peers ``[period, n]`` to which nodes send, by the weights W.

    Each node has one, and takes the mean of two models; else it is a ValueError.
    """
    stack = W if W.ndim == 3 else W[None]
    linked = (stack > 0) & ~np.eye(W.shape[-1], dtype=bool)  # i receives from j
    if not all((linked.sum(axis) == 1).all() for axis in (1, 2)) or (stack[stack > 0] != 0.5).any():
        raise ValueError("a node has several peers, or weights that are not 1/2")
    return linked.argmax(1)


def answer(prepare: Callable[..., tuple[Callable[[], np.ndarray], Callable[[], object]]]) -> None:
    """Write the states of one run, and print the seconds of others and the largest memory in MB.

    ``prepare(problem, method, **options)`` returns two functions. The first returns the states
    ``[steps + 1, n, d]``; the second takes as many steps and records nothing.
    """
    states, run = prepare(Problem.read(sys.argv[1]), **json.loads(sys.argv[3]))
    seconds = []
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        np.save(sys.argv[2], states())
        run()
        for _ in range(3):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]  # on Linux
    print(json.dumps({"seconds": statistics.median(seconds), "mb": int(peak) / 1024}))
