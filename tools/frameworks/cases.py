"""The cases of the comparison: methods that two packages have, and the problems for both."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from side import Problem

from ngo.gossip.topology import TOPOLOGIES

LR, STEPS = 0.05, 100


@dataclass(frozen=True)
class Case:
    """One method, as this package and as another one has it (see cases.yaml)."""

    framework: str
    theirs: dict
    ours: dict
    why: str = ""
    topology: str = "ring"
    loss: str = "least_squares"
    equal_start: bool = False
    shift: int = 0
    every: int = 1
    n: int = 9
    d: int = 10
    same: bool = True

    def problem(self) -> Problem:
        """20 samples of each worker, which has a solution x* + z_i; γ = 1 and η are stable."""
        random, n, d = np.random.default_rng(0), self.n, self.d
        A = random.normal(size=(n, 20, d)) / np.sqrt(d / 10)
        best = random.normal(size=d) + random.normal(size=(n, d)) / 2
        b = np.einsum("imd,id->im", A, best) + random.normal(size=(n, 20)) / 2
        if self.loss == "logistic":
            b = b > 0
        X0 = random.normal(size=(1 if self.equal_start else n, d)) + np.zeros((n, d))
        W = weights(self.topology, n)
        arrays = [np.asarray(each, dtype=np.float32) for each in (A, b, W, X0)]
        return Problem(self.loss, *arrays, self.topology, LR, STEPS)


def weights(topology: str, n: int) -> np.ndarray:
    """The mixing matrix of a run ``[n, n]``, or those of one period of its graphs, stacked."""
    graph = TOPOLOGIES[topology]
    matrices = [graph.matrix(n, t=t).dense().numpy() for t in range(graph.period(n))]
    return np.stack(matrices) if graph.varies else matrices[0]


CASES = [
    Case(**entry) for entry in yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text())
]
