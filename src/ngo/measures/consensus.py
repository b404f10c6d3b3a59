"""Consensus dynamics without learning (Figures 3 and S1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ngo.common.fields import above, at_least, choice, limit_product, number, whole, within
from ngo.common.lazy import Table, pd, torch
from ngo.common.registries import TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import simulate
from ngo.gossip.schedule import Mixing
from ngo.gossip.topology import check_undirected
from ngo.measures.measurement import Facts, measurement


@dataclass(frozen=True)
class ConsensusOptions:
    """Options of ``consensus_table``."""

    topology: str = choice("topology of the workers", "ring", TOPOLOGIES)
    workers: int = whole("number of workers n", 10, within(2, 2000))
    u: float = number("probability of an edge in a random graph", 0.4, above(0, 1), optional=True)
    p: tuple[float, ...] = number("exponent of the coupling φ_p; 1 is linear", (0.9,), above(0, 10))
    delay: tuple[int, ...] = whole("delay τ, in rounds", (0,), within(0, 1_000_000))
    gamma: float = number("synchronization rate γ: the length of a round", 0.1, above(0, 1_000_000))
    rounds: int = whole("rounds of gossip", 500, within(1, 1_000_000))
    seed: int = whole("seed of states and random graphs", 0, at_least(0))

    def __post_init__(self) -> None:
        """Limit the size of a trajectory; refuse φ_p on a directed graph."""
        limit_product(self, "workers", "rounds")
        if {*self.p} != {1}:
            check_undirected([self.topology])


COLUMNS = ("p", "delay", "topology", "workers", "gamma", "round", "worker", "x", "V")


def _cases(options: ConsensusOptions) -> Iterator[Facts]:
    return ({"p": p, "delay": delay} for p in options.p for delay in options.delay)


@measurement("consensus", ConsensusOptions, columns=COLUMNS, cases=_cases)
def consensus_table(options: ConsensusOptions, p: float, delay: int) -> Table:
    """Simulate consensus with no learning.

    All cases start from the same Gaussian state. The table has a row for each --p, --delay, round
    and worker, with the worker's state x and the synchronization index V of the round.

    Follow ten workers on a ring, with linear gossip and with φ_p:
      ngo consensus --p 1 --p 0.75 --rounds 50 --out consensus.parquet
    """
    n, seed = options.workers, options.seed
    X0 = torch.randn(n, 1, generator=torch_stream(seed, "states"), dtype=torch.float64)
    mixing = Mixing(options.topology, n, options, torch_stream(seed, "graphs"))
    matrices = map(mixing.at, range(options.rounds))
    run = simulate(X0, matrices, p, options.gamma, options.rounds, delay)
    index = pd.MultiIndex.from_product([range(len(run.V)), range(n)], names=["round", "worker"])
    table = index.to_frame(index=False).assign(x=run.states.numpy().ravel())
    table = table.assign(V=run.V.numpy()[table["round"]], p=p, delay=delay, workers=n)
    return table.assign(topology=options.topology, gamma=options.gamma)[[*COLUMNS]]
