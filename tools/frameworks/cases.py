"""The cases of the comparison: methods that two packages have, and the problems for both."""

from dataclasses import dataclass

import numpy as np
from side import Problem

from ngo.gossip.topology import TOPOLOGIES

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
    every: int = 1  # the steps here that are one step there
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
    """The mixing matrix of a run ``[n, n]``, or those of one period of its graphs, stacked."""
    graph = TOPOLOGIES[topology]
    matrices = [graph.matrix(n, t=t).dense().numpy() for t in range(graph.period(n))]
    return np.stack(matrices) if graph.varies else matrices[0]


def linear(method: str, gamma: float = 1.0, **fields) -> dict:
    """A method with linear gossip."""
    return {"method": method, "gamma": gamma, "p": 1.0, **fields}


MERGE_UPDATE = {"algorithm": "MERGE_UPDATE"}
EPIDEMIC = {"method": "epidemic"}  # on a directed ring: the mean of two models
PAIRS = {"topology": "one_peer_hypercube", "n": 8}
PENALTY = 0.5 / 3 / LR  # DLM's for γ = 1/2 on a ring, whose weights are 1/3
DB, GOSSIPY = "decent_bench", "gossipy"
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
    Case(
        GOSSIPY,
        MERGE_UPDATE,
        EPIDEMIC,
        "a node has one peer, so that one model arrives in each timestep, with the weight 1/2",
        topology="directed_ring",
    ),
    Case(GOSSIPY, MERGE_UPDATE, EPIDEMIC, topology="directed_ring", loss="logistic"),
    Case(GOSSIPY, MERGE_UPDATE, EPIDEMIC, topology="directed_ring", n=100, d=100),
    Case(GOSSIPY, {**MERGE_UPDATE, "protocol": "PULL"}, EPIDEMIC, topology="directed_ring"),
    Case(
        GOSSIPY,
        {**MERGE_UPDATE, "account": "PurelyProactiveTokenAccount"},
        EPIDEMIC,
        topology="directed_ring",
    ),
    Case(GOSSIPY, MERGE_UPDATE, {"method": "push_sum"}, topology="one_peer_exponential"),
    Case(GOSSIPY, MERGE_UPDATE, {"method": "dsgd"}, **PAIRS),
    Case(
        GOSSIPY,
        {**MERGE_UPDATE, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"method": "dsgd", "local_rule": "nesterov", "momentum": 0.9, "weight_decay": 0.01},
        **PAIRS,
    ),
    Case(
        GOSSIPY,
        {**MERGE_UPDATE, "optimizer": "Adam"},
        {"method": "dsgd", "local_rule": "adam"},
        **PAIRS,
    ),
    Case(
        GOSSIPY,
        {**MERGE_UPDATE, "local_epochs": 5},
        linear("local_sgd", local_steps=5),
        "five steps here are one timestep there",
        every=5,
        **PAIRS,
    ),
    Case(
        GOSSIPY,
        {"algorithm": "UPDATE"},
        {"method": "gossip", "gamma": 2.0},
        "a defect of gossipy-dfl 0.0.1: a node that takes over a model keeps its optimizer, which "
        "has the parameters of the model before, so that it trains no more; γ = 2 swaps models",
        same=False,
        **PAIRS,
    ),
]
LEFT_OUT = {
    "methods with draws of their own": "GT-SAGA's samples, ProxSkip's coins, gossipy's "
    "`drop_prob`, `online_prob`, nodes that are not `sync`, and token accounts that draw: their "
    "trajectories are equal in distribution at best",
    "gossipy with several peers": "a node draws one of them, and merges models that arrive "
    "together one after the other, with a training after each; epidemic learning here takes their "
    "mean",
    "`UPDATE_MERGE`": "a node also trains the model that arrives, on samples of its own",
    "`PUSH_PULL`": "a node answers with a model that it has just trained, so that a timestep has "
    "two exchanges, one after the other",
    "`ConstantDelay`": "a late model is averaged with the present one; here `delayed` pulls by the "
    "difference of two late ones",
    "`PassThroughNode`": "a defect of gossipy-dfl 0.0.1: the degree of node 0 is taken to be the "
    "number of nodes, so that node 0 passes models on at random in regular graphs too",
    "`CacheNeighNode`": "a defect of gossipy-dfl 0.0.1: the first message is a KeyError",
    "`PENSNode`, `SamplingBasedNode`, `PartitioningBasedNode`": "only gossipy has them: peers "
    "chosen by accuracy, and merges of drawn entries or parts",
    "`AdaLineHandler`, `PegasosHandler`": "one sample at a time, in order; batches here are "
    "shuffled",
    "`KMeansHandler`, `MFModelHandler`": "clusters and ratings, which are no models here",
}
"""What is not compared, and why."""
