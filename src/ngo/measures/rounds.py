"""V by rounds of each coupling, undisturbed and under each of several disturbances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from ngo.common.fields import (
    above,
    at_least,
    below,
    choice,
    defaults,
    limit_product,
    number,
    whole,
    within,
)
from ngo.common.lazy import Table, Tensor, pd, torch
from ngo.common.registries import COUPLINGS, TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import Chebyshev, Disturbance, Round, disturbed_rounds
from ngo.gossip.schedule import Mixing
from ngo.gossip.topology import check_undirected
from ngo.measures.measurement import Facts, measurement
from ngo.native.threads import one_intra_op_thread
from verdicts.registry import check

#: The name of accelerated linear gossip in the table's column ``coupling``.
CHEBYSHEV = "chebyshev"


@dataclass(frozen=True)
class RoundsOptions:
    """Options of ``rounds_table``."""

    topology: tuple[str, ...] = choice("topology", ("ring",), TOPOLOGIES)
    workers: int = whole("number of workers n", 10, within(2, 1000))
    dimension: int = whole("coordinates of a worker's state d", 100, within(1, 10**6))
    coupling: tuple[str, ...] = choice("pull along an edge", ("power",), COUPLINGS)
    p: tuple[float, ...] = number("exponent p", (0.6, 0.75, 0.9), within(0.5, 1))
    gamma: tuple[float, ...] = number("synchronization rate γ", (0.1, 1.0), above(0, 10**6))
    drift: tuple[float, ...] = number(
        "standard deviation over workers of their drift in a round", (), above(0, 10**6)
    )
    noise: tuple[float, ...] = number(
        "standard deviation of the noise in a round", (), above(0, 10**6)
    )
    delay: tuple[int, ...] = whole("delay τ, in rounds", (), within(1, 10**4))
    loss: tuple[float, ...] = number("probability that an edge fails", (), below(0, 1))
    kept: tuple[float, ...] = number(
        "share of the entries that a worker sends, top-k with error feedback", (), above(0, 1)
    )
    lie: tuple[float, ...] = number(
        "standard deviation of the noise in what the last worker sends; V is of the others",
        (),
        above(0, 10**6),
        optional=True,
    )
    rounds: int = whole("rounds of gossip", 200, within(1, 10**5))
    early: int = whole("rounds after which V_early is taken", 50, within(1, 10**5))
    points: int = whole("rounds that are recorded, on a logarithmic scale", 30, at_least(2))
    trials: int = whole("seeds of states and disturbances", 10, within(1, 1000))
    seed: int = whole("first seed", 0, at_least(0))

    def __post_init__(self) -> None:
        """Limit the size, refuse φ_p on a directed graph; ``early`` is one of the rounds."""
        limit_product(self, "workers", "dimension")
        if {*self.p} != {1} or {*self.coupling} != {"power"}:
            check_undirected(self.topology)
        check(self.early <= self.rounds, "early", self.early, f"{self.rounds} (rounds) is the most")


COLUMNS = (
    *("disturbance", "strength", "coupling", "topology", "workers", "p", "gamma", "seed", "early"),
    *("V_early", "V_settled", "round", "messages", "V"),
)


def _cases(options: RoundsOptions) -> Iterator[Facts]:
    kinds = ("drift", "noise", "delay", "loss", "kept", "lie")
    disturbances = [("none", 0), *((kind, x) for kind in kinds for x in getattr(options, kind))]
    for (kind, strength), mix in product(disturbances, _mixes(options)):
        yield {"disturbance": kind, "strength": strength, **mix}


# No option names the attack of ``lie``.
@measurement("rounds", RoundsOptions, columns=COLUMNS, cases=_cases, code=("ngo/gossip/attack.py",))
def rounds_table(options: RoundsOptions, **case: Any) -> Table:
    r"""Measure how fast and how far workers agree without learning, for each coupling.

    All start from the same Gaussian state. Cases are the combinations of --topology, --coupling,
    --p and --gamma; p = 1, linear gossip, belongs to coupling power, Chebyshev's acceleration of it
    to topologies that do not vary, and coupling implicit to matchings. Each is measured
    undisturbed, and under each single value of --drift, --noise, --delay, --loss, --kept
    and --lie.

    The table has a row for each recorded round, with V and the messages sent so far. ``V_early`` is
    V after --early rounds, and ``V_settled`` its mean over the last quarter of all rounds.

    Linear gossip and φ_p on a ring, undisturbed and two rounds late:
      ngo rounds --workers 8 --p 1 --p 0.75 --gamma 0.3 --delay 2 \
        --rounds 60 --trials 2 --out rounds.parquet
    """
    with one_intra_op_thread():
        seeds = range(options.seed, options.seed + options.trials)
        tables = [_measured(options, seed, **case) for seed in seeds]
    return pd.concat(tables, ignore_index=True)


def _mixes(options: RoundsOptions) -> Iterator[Facts]:
    """The ways to mix."""
    values = vars(_fields(1.0, options.seed))
    for topology in options.topology:
        entry = TOPOLOGIES[topology]
        for gamma in options.gamma:
            for name in options.coupling:
                if COUPLINGS[name].matching and not entry.matching(options.workers, **values):
                    continue
                reads_p = "p" in COUPLINGS[name].fields
                for p in options.p if reads_p else (1.0,):
                    if p < 1 or name == "power" or not reads_p:
                        yield {"topology": topology, "coupling": name, "p": p, "gamma": gamma}
            if 1 in options.p and not entry.varies:
                yield {"topology": topology, "coupling": CHEBYSHEV, "p": 1.0, "gamma": gamma}


def _measured(
    options: RoundsOptions, seed: int, disturbance: str, strength: float, **mix: Any
) -> Table:
    n, rounds = options.workers, options.rounds
    generator = torch_stream(seed, "states")
    X0 = torch.randn(n, options.dimension, generator=generator, dtype=torch.float64)
    fields = _fields(mix["p"], seed)
    mixing = Mixing(mix["topology"], n, fields, torch_stream(seed, "graphs"))
    sent = [0]

    def matrices() -> Iterator[Tensor]:
        for W in map(mixing.at, range(rounds)):
            sent.append(sent[-1] + W.edges)
            yield W.dense()

    disturbed = Disturbance(**{} if disturbance == "none" else {disturbance: strength})
    take = _round(mixing, mix["coupling"], mix["gamma"], fields)
    V = disturbed_rounds(X0, matrices(), take, disturbed, seed).numpy()
    recorded = np.geomspace(1, rounds, options.points).round().astype(int)
    shown = np.unique(np.concatenate([[0], recorded]))
    facts = {"disturbance": disturbance, "strength": strength, **mix, "workers": n, "seed": seed}
    facts |= {"early": options.early, "V_early": V[options.early]}
    facts |= {"V_settled": V[-max(1, rounds // 4) :].mean()}
    courses = {"round": shown, "messages": np.array(sent)[shown], "V": V[shown]}
    return pd.DataFrame({**facts, **courses})[[*COLUMNS]]


def _fields(p: float, seed: int) -> SimpleNamespace:
    """What topologies and couplings read; their own options have their defaults."""
    return SimpleNamespace(**defaults(), p=p, seed=seed)


def _round(mixing: Mixing, coupling: str, gamma: float, fields: SimpleNamespace) -> Round:
    if coupling == CHEBYSHEV:
        return Chebyshev(mixing.at(0).dense(), gamma)
    step = COUPLINGS[coupling].step
    return lambda X, W, at: step(X, W, gamma, fields, at=at)
