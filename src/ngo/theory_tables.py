"""Measurements beside what theory says of them, as tidy tables, and a verdict on each statement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import networkx as nx
import numpy as np
import pandas as pd
import torch

from ngo import consensus, least_squares, theory
from ngo.graphs import TOPOLOGIES, laplacian, metropolis_hastings
from ngo.pool import one_intra_op_thread
from ngo.registry import UserError
from ngo.seeding import torch_stream
from ngo.tables import ABSENT

# Of V(0): what is left of V is no consensus above this.
RESIDUAL = 1e-6

# A predicted chatter floor holds where the measured one is within this factor.
FLOOR_FACTOR = 2.0

# Rounds over which a floor is averaged.
FLOOR_ROUNDS = 100

# Draws of a random graph until one is connected, and numbers in all states of one trajectory.
MOST_DRAWS, MOST_NUMBERS = 10_000, 10**9


def measure(
    topologies: Iterable[str],
    workers: Iterable[int],
    u: float,
    p: Iterable[float],
    seed: int,
    *,
    tol: float,
    draws: int,
    delay_step: float,
    delay_rounds: int,
    delay_share: float,
    floor_gamma: Iterable[float],
    floor_dimension: int,
    sgd_topology: str,
    sgd_workers: int,
    sgd_gamma: float,
    sgd_p: float,
    samples: int,
    dimension: int,
    noise: float,
    heterogeneity: float,
    batch_size: int,
    steps: int,
    points: int,
    repeats: int,
) -> pd.DataFrame:
    """All four tables as one, ``kind`` saying which a row belongs to (see :func:`split`).

    ``p`` in [1/2, 1) serves them all: the delays add p = 1, and the floors leave out p = 1/2,
    where none is predicted. Consensus times are those of γ = 1, which only sets the unit of time.
    """
    graphs = {"topologies": list(topologies), "workers": list(workers), "u": u, "seed": seed}
    exponents = list(p)
    tables = {
        "bounds": consensus_times(p=exponents, gamma=1.0, tol=tol, draws=draws, **graphs),
        "delays": delay_tolerances(
            p=[*exponents, 1.0], gamma=delay_step, rounds=delay_rounds, share=delay_share, **graphs
        ),
        "gaps": convergence_gaps(
            topology=sgd_topology,
            workers=sgd_workers,
            u=u,
            p=sgd_p,
            gamma=sgd_gamma,
            samples=samples,
            dimension=dimension,
            noise=noise,
            heterogeneity=heterogeneity,
            batch=batch_size,
            steps=steps,
            points=points,
            repeats=repeats,
            seed=seed,
        ),
        "floors": chatter_floors(
            p=[value for value in exponents if value > 0.5],
            gamma=floor_gamma,
            dimension=floor_dimension,
            **graphs,
        ),
    }
    return pd.concat([table.assign(kind=kind) for kind, table in tables.items()], ignore_index=True)


def split(whole: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables ``bounds``, ``delays``, ``gaps`` and ``floors`` of :func:`measure`."""
    return {
        kind: rows.drop(columns="kind").dropna(axis=1, how="all").reset_index(drop=True)
        for kind, rows in whole.groupby("kind")
    }


@one_intra_op_thread()
def consensus_times(
    topologies: Iterable[str],
    workers: Iterable[int],
    u: float,
    p: Iterable[float],
    gamma: float,
    tol: float,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """When the continuous system reaches V ≤ ``tol`` · V(0), beside T* in each form.

    One row for each graph, p in [1/2, 1) and Gaussian initial state, of ``draws``. V = 0 comes a
    little after ``measured``, so that a T* below it is refuted.
    """
    records = []
    for topology, n, W in _networks(topologies, workers, u, seed):
        generator = torch_stream(seed, "theory states", n)
        states = [torch.randn(n, 1, generator=generator, dtype=torch.float64) for _ in range(draws)]
        for exponent in p:
            for draw, X0 in enumerate(states):
                V0 = float(consensus.synchronization_index(X0))
                bounds = {
                    form: theory.finite_time_bound(V0, W, exponent, gamma, form)
                    for form in ("paper", "corrected", "sharp")
                }
                flow = consensus.integrate(
                    X0, W, exponent, gamma, t_end=4 * bounds["sharp"], tol=tol
                )
                measured = math.inf if flow.consensus_time is None else flow.consensus_time
                records.append(
                    {
                        "topology": topology,
                        "n": n,
                        "p": exponent,
                        "gamma": gamma,
                        "draw": draw,
                        "V0": V0,
                        "measured": measured,
                        **bounds,
                    }
                )
    return pd.DataFrame(records)


@one_intra_op_thread()
def delay_tolerances(
    topologies: Iterable[str],
    workers: Iterable[int],
    u: float,
    p: Iterable[float],
    gamma: float,
    rounds: int,
    share: float,
    seed: int,
) -> pd.DataFrame:
    """The delay under which consensus in rounds of length ``gamma`` is still reached, and limits.

    ``tolerated`` is, for p = 1, the largest delay under which V decays at all, since it then
    vanishes. Any other coupling may go on swinging at a smaller V: there it is the largest delay
    under which V falls below ``share`` of what it was at first. ``limit`` is π/(2λ_n) and
    ``limit_of_rounds`` the same for rounds; all are in units of time. ``residual`` is what is left
    of V, as a share of V(0), at half the limit. The initial state is the eigenvector of λ_n, of
    unit spread, the first to become unstable; for p ≠ 1 the results depend on the spread.
    """
    records = []
    for topology, n, W in _networks(topologies, workers, u, seed):
        _, vectors = torch.linalg.eigh(laplacian(W))
        X0 = vectors[:, -1:] * math.sqrt(n)
        limit = theory.delay_limit(W)
        for exponent in p:
            records.append(
                {
                    "topology": topology,
                    "n": n,
                    "p": exponent,
                    "gamma": gamma,
                    "tolerated": consensus.delayed_tolerance(
                        X0, W, exponent, gamma, rounds, 1.0 if exponent == 1 else share
                    ),
                    "limit": limit,
                    "limit_of_rounds": theory.delay_limit(W, gamma),
                    "residual": _tail(X0, W, exponent, gamma, rounds, round(limit / 2 / gamma)),
                }
            )
    return pd.DataFrame(records)


@one_intra_op_thread()
def convergence_gaps(
    topology: str,
    workers: int,
    u: float,
    p: float,
    gamma: float,
    samples: int,
    dimension: int,
    noise: float,
    heterogeneity: float,
    batch: int,
    steps: int,
    points: int,
    repeats: int,
    seed: int,
) -> pd.DataFrame:
    """f(x_avg^T) − f* of SGD on least squares, mean over ``repeats``, beside Theorems 2.1 and 3.2.

    Centralized, linear gossip and NGO, at about ``points`` numbers of steps T from 1 to ``steps``,
    equally spaced in log T. ``bound`` sums w_t V^(t) over all steps. ``printed`` is the bound as
    printed: for NGO it sums up to T* only, which is 0 rounds since the workers start as one; ``V``
    is that of the last step, which should then be 0.
    """
    problem = least_squares.gaussian_problem(
        workers, samples, dimension, noise, heterogeneity, seed
    )
    ((_, _, W),) = _networks([topology], [workers], u, seed)
    a = theory.step_offset(problem.mu, problem.L, gamma, W)
    record = sorted({round(T) for T in np.geomspace(1, steps, points)})
    records = []
    protocols = {
        "centralized": {},
        "gossip": {"W": W, "gamma": gamma, "p": 1.0},
        "ngo": {"W": W, "gamma": gamma, "p": p},
    }
    for protocol, settings in protocols.items():
        run = least_squares.sgd(
            problem,
            steps,
            a=a,
            batch=batch,
            repeats=repeats,
            seed=seed,
            record=record,
            **settings,
        )
        V = run.V.mean(1)
        weighted = ((a + torch.arange(steps, dtype=torch.float64)) ** 2 * V).cumsum(0)
        if protocol == "ngo":
            last = int(theory.finite_time_bound(float(V[0]), W, p, gamma, "paper"))
        else:
            last = steps - 1
        for k, T in enumerate(run.T):
            full, printed = (
                theory.sgd_bound(
                    T,
                    mu=problem.mu,
                    L=problem.L,
                    a=a,
                    sigma2=run.sigma2,
                    n=workers,
                    distance2=run.distance2,
                    weighted_V=float(weighted[end]),
                )
                for end in (T - 1, min(T - 1, last))
            )
            records.append(
                {
                    "protocol": protocol,
                    "n": workers,
                    "T": T,
                    "gap": float(run.gap[k].mean()),
                    "bound": full,
                    "printed": printed,
                    "V": float(V[T - 1]),
                }
            )
    return pd.DataFrame(records)


@one_intra_op_thread()
def chatter_floors(
    topologies: Iterable[str],
    workers: Iterable[int],
    u: float,
    p: Iterable[float],
    gamma: Iterable[float],
    dimension: int,
    seed: int,
) -> pd.DataFrame:
    """V at which rounds of NGO end, from a Gaussian state, beside the largest two-cycle's.

    Each run lasts twice the sharp T* of the continuous system, in rounds; ``measured`` is the mean
    over the ``FLOOR_ROUNDS`` that follow.
    """
    gammas = list(gamma)
    records = []
    for topology, n, W in _networks(topologies, workers, u, seed):
        generator = torch_stream(seed, "theory states", n)
        X0 = torch.randn(n, dimension, generator=generator, dtype=torch.float64)
        V0 = float(consensus.synchronization_index(X0))
        for exponent in p:
            for rate in gammas:
                bound = theory.finite_time_bound(V0, W, exponent, rate, "sharp")
                if 2 * bound * X0.numel() > MOST_NUMBERS:
                    raise UserError(
                        f"floor_gamma: {rate!r} takes {2 * bound:,.0f} rounds at p = {exponent!r} "
                        f"on {n} workers in {dimension} dimensions; it must be larger."
                    )
                rounds = math.ceil(2 * bound)
                run = consensus.simulate(X0, W, exponent, rate, rounds + FLOOR_ROUNDS)
                records.append(
                    {
                        "topology": topology,
                        "n": n,
                        "p": exponent,
                        "gamma": rate,
                        "dimension": dimension,
                        "measured": float(run.V[-FLOOR_ROUNDS:].mean()),
                        "predicted": theory.chatter_V(rate, W, exponent, dimension),
                    }
                )
    return pd.DataFrame(records)


def verdicts(
    bounds: pd.DataFrame, delays: pd.DataFrame, gaps: pd.DataFrame, floors: pd.DataFrame
) -> pd.DataFrame:
    """Each statement, the case that is hardest on it, and whether it holds in all of them.

    ``measured`` and ``theory`` are that case's, ``ratio`` one over the other, ``cases`` how many
    there are and ``met`` in how many the statement holds.
    """
    records = []

    def judge(
        statement: str,
        table: pd.DataFrame,
        measured: str,
        said: str,
        met: pd.Series,
        hard: pd.Series,
    ) -> None:
        worst = table.loc[hard.idxmax()]
        records.append(
            {
                "statement": statement,
                "measured": worst[measured],
                "theory": worst[said],
                "ratio": worst[measured] / worst[said] if worst[said] else math.inf,
                "cases": len(table),
                "met": int(met.sum()),
                "verdict": "holds" if met.all() else "fails",
            }
        )

    for form, name in (
        ("paper", "Theorem 3.1: consensus by T*, as printed"),
        ("corrected", "Theorem 3.1: consensus by T*, corrected"),
        ("sharp", "Theorem 3.1: consensus by T*, sharp (twice the printed)"),
    ):
        ratio = bounds["measured"] / bounds[form]
        # The solver's times are right to about 1e-5; two workers meet the sharp time exactly.
        judge(name, bounds, "measured", form, ratio <= 1 + 1e-5, ratio)

    linear = delays[delays["p"] == 1]
    if len(linear):
        off = (linear["tolerated"] - linear["limit_of_rounds"]).abs()
        judge(
            "Delay theorem: the tolerated delay to a round, p = 1",
            linear, "tolerated", "limit_of_rounds", off <= linear["gamma"], off / linear["gamma"],
        )  # fmt: skip
    for p, group in delays.groupby("p"):
        judge(
            f"Delay theorem: V vanishes at half the limit, p = {p:g}",
            group.assign(zero=0.0), "residual", "zero",
            group["residual"] <= RESIDUAL, group["residual"],
        )  # fmt: skip

    for protocol, column, statement in (
        ("centralized", "bound", "Theorem 2.1: the gap, centralized"),
        ("gossip", "bound", "Theorem 2.1: the gap, gossip"),
        ("ngo", "bound", "Theorem 3.2: the gap, NGO, V summed over all steps"),
        ("ngo", "printed", "Theorem 3.2: the gap, NGO, V summed to T*, as printed"),
    ):
        group = gaps[gaps["protocol"] == protocol]
        ratio = group["gap"] / group[column]
        judge(statement, group, "gap", column, ratio <= 1, ratio)
    ngo = gaps[(gaps["protocol"] == "ngo") & (gaps["T"] > 1)].assign(zero=0.0)
    judge("Theorem 3.2: V is 0 after T*", ngo, "V", "zero", ngo["V"] == 0, ngo["V"])

    ratio = floors["measured"] / floors["predicted"]
    distance = np.log(ratio).abs()
    judge(
        f"Chatter floor: the largest two-cycle, within a factor {FLOOR_FACTOR:g}",
        floors, "measured", "predicted", distance <= math.log(FLOOR_FACTOR), distance,
    )  # fmt: skip
    return pd.DataFrame(records)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The printed form of :func:`verdicts`."""

    def three(values: pd.Series) -> pd.Series:
        return values.map("{:.3g}".format).where(np.isfinite(values), ABSENT)

    return pd.DataFrame(
        {
            "Statement": table["statement"],
            "Measured": three(table["measured"]),
            "Theory": three(table["theory"]),
            "Ratio": three(table["ratio"]),
            "Met": table["met"].astype(str) + " of " + table["cases"].astype(str),
            "Verdict": table["verdict"],
        }
    )


def _networks(
    topologies: Iterable[str], workers: Iterable[int], u: float, seed: int
) -> Iterator[tuple[str, int, torch.Tensor]]:
    """Each topology with each n and its weights; a graph that came before is left out.

    A random one is the first connected draw from the stream (seed, "theory graphs", n).
    """
    seen = []
    names, sizes = list(topologies), list(workers)
    for n in sizes:
        for name in names:
            entry = TOPOLOGIES[name]
            generator = torch_stream(seed, "theory graphs", n)
            edges = entry.edges(n, u, generator) if entry.random else entry.edges(n)
            for _ in range(MOST_DRAWS):
                if not entry.random or nx.is_connected(_graph(n, edges)):
                    break
                edges = entry.edges(n, u, generator)
            else:
                raise UserError(
                    f"u: {u!r} gave no connected {name} graph of {n} workers in {MOST_DRAWS} "
                    f"draws; it must be larger."
                )
            W = metropolis_hastings(n, edges)
            if not any(torch.equal(W, other) for other in seen):
                seen.append(W)
                yield name, n, W


def _tail(
    X0: torch.Tensor, W: torch.Tensor, p: float, gamma: float, rounds: int, delay: int
) -> float:
    """The largest V of the last tenth of the rounds, as a share of V(0)."""
    V = consensus.simulate(X0, W, p, gamma, rounds, delay).V
    return float(V[-max(1, rounds // 10) :].max() / V[0])


def _graph(n: int, edges: list[tuple[int, int]]) -> nx.Graph:
    graph = nx.empty_graph(n)
    graph.add_edges_from(edges)
    return graph
