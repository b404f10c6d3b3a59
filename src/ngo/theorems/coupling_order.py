"""Figure 3: the smaller p, the sooner consensus."""

from __future__ import annotations

import math

from ngo.common.registry import UserError
from ngo.common.types import Numbers, Table
from ngo.theorems.graphs import sgd_graph, states
from ngo.theorems.theorem import Options, Rows, by_seed, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# Much longer than any coupling takes.
T_END = 1e12


@part("orders", "seed", "n", "p", "time")
def consensus_order(s: Options) -> Rows:
    """The time at which V ≤ ``order_share`` · V(0) in continuous time, for each start and p.

    The ``starts`` are Gaussian states of ``sgd_workers`` workers on ``sgd_topology``; each has its
    own stream, (seed + start, "theory orders").
    """
    from ngo.gossip import consensus

    W, n = sgd_graph(s), s.sgd_workers
    for seed in range(s.seed, s.seed + s.starts):
        (X0,) = states(n, 1, seed, "theory orders", None)
        for p in s.order_p:
            flow = consensus.integrate(X0, W, p, t_end=T_END, tol=s.order_share)
            time = math.inf if flow.consensus_time is None else flow.consensus_time
            yield seed, n, p, time


@quantity("theory_order", cases=True)
def order(table: Table) -> Table:
    """The smaller p, the sooner consensus (Figure 3): each start is a case.

    ``measured`` is the largest ratio of a time to that of the next larger p.
    """
    times = _times(table).sort_index(axis=1)
    ratios = times / times.shift(-1, axis=1)  # NaN for the last p
    rows = ratios.iloc[:, :-1].max(axis=1).rename("ratio").reset_index()
    return cases(rows, ("seed",), rows["ratio"], 1.0, rows["ratio"] < 1)


@quantity("theory_order_lead", unit="log ratio", example="{first: 0.5, then: 1}")
def order_lead(table: Table, first: float, then: float) -> Numbers:
    """Per start: log of the consensus time with p = ``then`` over that with p = ``first``."""
    import numpy as np

    times = _times(table)
    for name, p in (("first", first), ("then", then)):
        if p not in times:
            known = ", ".join(f"{each:g}" for each in sorted(times))
            raise UserError(f"{name}: p = {p!r} was not measured; it must be one of {known}.")
    return by_seed(np.log(times[then] / times[first]))


def _times(table: Table) -> Table:
    """Consensus times ``[start, p]``."""
    return rows_of(table, "orders").pivot(index="seed", columns="p", values="time")
