"""The cases of the comparison: methods that two packages have, and the problems for both."""

from dataclasses import dataclass

import numpy as np
from side import Problem

from ngo.gossip.topology import TOPOLOGIES
from ngo.gossip.weights import metropolis_hastings

LR, STEPS = 0.05, 100


@dataclass(frozen=True)
class Case:
    """One method, as this package and as another one has it."""

    framework: str
    theirs: dict
    ours: dict
    why: str = ""  # where they disagree, or what has to be set for them to agree
    topology: str = "ring"
    loss: str = "least_squares"
    equal_start: bool = False
    shift: int = 0  # the steps at the start in which theirs only exchanges
    n: int = 9
    d: int = 10
    same: bool = True  # whether the trajectories are to agree

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
    """Metropolis–Hastings weights; on a directed ring, one half for each of two models."""
    if topology == "directed_ring":
        return (np.eye(n) + np.roll(np.eye(n), 1, axis=0)) / 2
    return metropolis_hastings(n, list(TOPOLOGIES[topology].edges(n))).dense().numpy()


def linear(method: str, gamma: float = 1.0, **fields) -> dict:
    """A method with linear gossip."""
    return {"method": method, "gamma": gamma, "p": 1.0, **fields}


PENALTY = 0.5 / 3 / LR  # DLM's for γ = 1/2 on a ring, whose weights are 1/3
DB = "decent_bench"
CASES = [
    Case(DB, {"algorithm": "ATC"}, {"method": "dsgd"}),
    Case(DB, {"algorithm": "ATC"}, {"method": "dsgd"}, loss="logistic"),
    Case(DB, {"algorithm": "ATC"}, {"method": "dsgd"}, n=100, d=100),
    Case(
        DB,
        {"algorithm": "DGD"},
        {"method": "gossip", "gamma": 1.0, "order": "combine_then_adapt"},
        "DGD combines, then adapts: the order that is not the default here",
    ),
    Case(DB, {"algorithm": "EXTRA"}, linear("extra")),
    Case(DB, {"algorithm": "EXTRA"}, linear("extra"), loss="logistic"),
    Case(DB, {"algorithm": "ATC_Tracking"}, linear("gradient_tracking")),
    Case(DB, {"algorithm": "ATC_Tracking"}, linear("gradient_tracking"), loss="logistic"),
    Case(
        DB,
        {"algorithm": "AugDGM"},
        linear("gradient_tracking"),
        "definition: Aug-DGM mixes y after the difference of gradients is added, DSGT before",
        same=False,
    ),
    Case(DB, {"algorithm": "ED"}, linear("exact_diffusion")),
    Case(
        DB,
        {"algorithm": "NIDS"},
        linear("exact_diffusion"),
        "order of update: the first step of NIDS does not mix; from equal states on, it is the "
        "same with another start",
        same=False,
    ),
    Case(
        DB,
        {"algorithm": "ProxSkip", "comm_probability": 1, "aux_step_size": 1.0},
        linear("proxskip", 0.5, exchange_probability=1.0),
        "weights: theirs are (I + W)/2, which is γ = 1/2; with a probability below 1, coins differ",
    ),
    Case(
        DB,
        {"algorithm": "DLM", "penalty": PENALTY},
        linear("admm", 0.5),
        "a defect of decent-bench 0.3.0: the sum of the messages is added up in the first message, "
        "in place, and this array is that of all its receivers",
        equal_start=True,
        shift=1,
        same=False,
    ),
    Case(
        DB,
        {"algorithm": "ADMM", "penalty": PENALTY},
        linear("admm", 0.5, local_steps=10),
        "definition: theirs minimizes exactly, with a variable for each edge; here ten gradient "
        "steps are one round, so that 100 steps are 10 rounds",
        equal_start=True,
        same=False,
    ),
]
