"""Theorems 2.1 and 3.2: the gap f(x_avg^T) − f* of SGD, with gossip and with NGO, is below a bound.

Theorem 2.1, as printed, lacks a factor ‖x⁰ − x*‖². Theorem 3.2 sums V only up to T*, after which V
under SGD is 0 (Supplement A). SGD with gossip or NGO converges (second lemma of Section 3.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ngo.common.seeding import torch_stream
from ngo.common.types import Table, Tensor
from ngo.gossip.topology import Mixing
from ngo.theorems.graphs import sgd_graph
from ngo.theorems.sgd_problem import problem, sgd, spaced
from ngo.theorems.theorem import Options, Rows, checked_form, part, rows_of
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

if TYPE_CHECKING:
    from ngo.gossip.least_squares import LeastSquares


# The column topology of runs on a random graph that is drawn in each step.
DRAWN = "redrawn"

# The columns of the bound by its form.
BOUNDS = {"printed": "printed", "amended": "bound"}

# Convergence: the gap has fallen to this share.
CONVERGED = 1e-3


@part("gaps", "method", "n", "T", "gap", "bound", "printed", "V", "topology", "distance")
def gaps(s: Options) -> Rows:
    """The gap f(x_avg^T) − f* of SGD, mean over ``repeats``, and its bounds.

    Centralized SGD, linear gossip and NGO on ``sgd_topology``, and both of these on a random graph
    drawn in each step; from a start at each ``sgd_distance`` from x*; at about ``points`` numbers
    of steps T from 1 to ``steps``, equally spaced in log T.

    ``bound`` has the factor ‖x⁰ − x*‖² and sums w_t V^(t) over all steps. ``printed`` is the bound
    as the paper prints it: Theorem 2.1 lacks the factor; for NGO the sum ends at T*, which is 0
    rounds because all workers start at the same point. ``V`` is the index of the last step, which
    should then be 0.
    """
    from ngo.gossip import least_squares

    W, near = sgd_graph(s), problem(s, s.seed)

    def drawn() -> Iterator[Tensor]:
        generator = torch_stream(s.seed, "theory gap graphs", s.sgd_workers)
        mixing = Mixing("random", s.sgd_workers, SimpleNamespace(u=s.u), generator)
        return map(mixing.at, range(s.steps))

    runs = [
        ("centralized", "", lambda: None, 1.0),
        ("gossip", s.sgd_topology, lambda: W, 1.0),
        ("gossip", DRAWN, drawn, 1.0),
        ("ngo", s.sgd_topology, lambda: W, s.sgd_p),
        ("ngo", DRAWN, drawn, s.sgd_p),
    ]
    for distance in s.sgd_distance:
        moved = least_squares.at_distance(near, distance)
        for method, topology, matrices, p in runs:
            for row in _gaps(s, moved, method, matrices(), W, p):
                yield *row, topology, distance


def _gaps(
    s: Options,
    problem: LeastSquares,
    method: str,
    matrices: Tensor | Iterable[Tensor] | None,
    W: Tensor,
    p: float,
) -> Rows:
    """The first columns of a run's rows; ``W`` decides a and T*, also on random graphs."""
    import torch

    from ngo.gossip import bounds

    a = bounds.step_offset(problem.mu, problem.L, s.sgd_gamma, W)
    run = sgd(s, problem, s.steps, spaced(1, s.steps, s.points), a=a, W=matrices, p=p)
    V = run.V.mean(1)
    weighted = ((a + torch.arange(s.steps, dtype=torch.float64)) ** 2 * V).cumsum(0)
    last, printed_distance2 = s.steps - 1, 1.0
    if method == "ngo":
        last = int(bounds.finite_time_bound(float(V[0]), W, p, s.sgd_gamma, "paper"))
        printed_distance2 = run.distance2

    known = {"mu": problem.mu, "L": problem.L, "a": a, "sigma2": run.sigma2, "n": s.sgd_workers}

    def bound(T: int, end: int, distance2: float) -> float:
        return bounds.sgd_bound(T, **known, distance2=distance2, weighted_V=float(weighted[end]))

    for k, T in enumerate(run.T):
        gap = float(run.gap[k].mean())
        amended = bound(T, T - 1, run.distance2)
        printed = bound(T, min(T - 1, last), printed_distance2)
        yield method, s.sgd_workers, T, gap, amended, printed, float(V[T - 1])


@quantity("theory_bound", example="{form: printed, method: centralized}", cases=True)
def within_bound(table: Table, method: str, form: str, least_T: int = 1) -> Table:
    """The gap f(x_avg^T) − f* is below the bound of Theorem 2.1 (NGO: 3.2), for T ≥ ``least_T``.

    ``form``: printed or amended, the columns ``printed`` and ``bound`` of ``convergence.gaps``.
    """
    rows = rows_of(table, "gaps")
    column = BOUNDS[checked_form(form, BOUNDS)]
    rows = rows[(rows["method"] == method) & (rows["T"] >= least_T)].fillna({"topology": ""})
    names = ("topology", "distance", "T") if method != "centralized" else ("distance", "T")
    return cases(rows, names, rows["gap"], rows[column], rows["gap"] <= rows[column])


@quantity("theory_index_vanishes", cases=True)
def index_vanishes(table: Table) -> Table:
    """Under SGD with NGO, V is 0 after T* (Supplement A); T* is 0, since workers start alike."""
    rows = rows_of(table, "gaps")
    rows = rows[(rows["method"] == "ngo") & (rows["T"] > 1)]
    return cases(rows, ("topology", "distance", "T"), rows["V"], 0.0, rows["V"] == 0)


@quantity("theory_convergence", cases=True)
def convergence(table: Table) -> Table:
    """Gossip-type SGD converges (second lemma of Section 3.3): the gap falls to 1/1000."""
    rows = rows_of(table, "gaps")
    rows = rows[rows["method"] != "centralized"]
    names = ["method", "topology", "distance"]
    curves = rows.sort_values("T").groupby(names)["gap"]
    share = (curves.last() / curves.first()).rename("share").reset_index()
    return cases(share, names, share["share"], CONVERGED, share["share"] < CONVERGED)
