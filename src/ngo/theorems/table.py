"""The table of ``ngo theory``: its options, and the kinds of its rows.

Light: claims name the columns before anything is measured. The modules that measure import torch.
The quantities that judge the rows are in ``ngo.analysis.quantities.theorems``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name

from ngo.common.fields import above, at_least, choice, limit_product, number, whole, within
from ngo.common.lazy import Table, pd
from ngo.common.registries import TOPOLOGIES
from ngo.gossip.topology import check_undirected
from verdicts.registry import UserError, check

# Up to p = 1, T* and the floors exceed the range of floating-point numbers.
_SUBLINEAR = within(0.5, 0.99)


@dataclass(frozen=True)
class TheoryOptions:
    """Options of all graphs, and of each kind of rows."""

    topologies: tuple[str, ...] = choice("topology", ("ring", "random", "complete"), TOPOLOGIES)
    workers: tuple[int, ...] = whole("number of workers of each graph", (2, 5), within(2, 200))
    u: float = number("probability of an edge in a random graph", 0.4, above(0, 1))
    p: tuple[float, ...] = number("exponent of the coupling φ_p", (0.5, 0.75, 0.9), _SUBLINEAR)
    seed: int = whole("seed of graphs, states and data", 0, at_least(0))

    tol: float = number("share of V(0) that counts as consensus", 1e-12, within(1e-30, 0.5))
    draws: int = whole("initial states of each graph", 3, within(1, 1000))

    delay_step: float = number("delays: length γ of a round", 0.1, above(0, 1))
    delay_rounds: int = whole("delays: rounds", 400, within(10, 100_000))
    delay_share: float = number(
        "delays: for p < 1, share of V below which it must fall", 0.01, above(0, 1)
    )

    marginal_delay: tuple[int, ...] = whole("delays at the limit: rounds", (5, 20), within(1, 1000))

    starts: int = whole("order of consensus times: initial states", 20, within(1, 10_000))
    order_p: tuple[float, ...] = number(
        "order of consensus times: exponent of φ_p", (0.5, 1, 2), within(0.5, 4)
    )
    order_share: float = number(
        "order of consensus times: share of V(0) that counts as consensus", 0.01, within(1e-30, 0.5)
    )

    degree_share: tuple[float, ...] = number(
        "discrete consensus: γ as a share of 1/Δ", (0.1, 0.5, 0.9, 0.99, 1.5), above(0, 10)
    )
    random_rounds: int = whole("random graphs: rounds", 400, within(10, 100_000))
    link_loss: float = number("failing links: probability in a round", 0.5, above(0, 0.99))

    floor_gamma: tuple[float, ...] = number(
        "chatter, decay of linear gossip, V under SGD: synchronization rate γ",
        (0.1, 1.0),
        within(0.001, 10),
    )
    floor_dimension: int = whole("chatter: coordinates of a state", 20, within(1, 10_000))

    sgd_topology: str = choice("least squares: topology of the workers", "ring", TOPOLOGIES)
    sgd_workers: int = whole("least squares: number of workers", 10, within(2, 200))
    sgd_gamma: float = number("least squares: synchronization rate γ", 0.1, above(0, 0.99))
    sgd_p: float = number("least squares: exponent of φ_p", 0.9, _SUBLINEAR)
    samples: int = whole("least squares: samples per worker", 100, within(1, 100_000))
    dimension: int = whole("least squares: features of a sample", 5, within(1, 1000))
    noise: float = number("least squares: standard deviation of noise", 0.5, above(0, 1000))
    heterogeneity: float = number(
        "least squares: distance between the workers' solutions", 0.5, within(0, 1000)
    )
    batch_size: int = whole("least squares: samples per worker and step", 4, within(1, 100_000))
    steps: int = whole("least squares: training steps T", 1000, within(1, 1_000_000))
    points: int = whole("least squares: values of T in the table", 12, within(1, 1000))
    repeats: int = whole("least squares: runs per mean", 10, within(1, 10_000))
    sgd_distance: tuple[float, ...] = number(
        "least squares: distance of the start from the solution", (3, 30), above(0, 1000)
    )

    trials: int = whole("seeds of paired comparisons", 5, within(1, 1000))
    trial_steps: int = whole("paired comparisons: training steps", 500, within(10, 1_000_000))
    leading_steps: int = whole(
        "Theorem 2.1's terms: training steps of gossip, beyond those of comparisons",
        0,
        within(0, 1_000_000),
        optional=True,  # archives from before do without
    )
    trial_repeats: int = whole("paired comparisons: runs per mean", 5, within(1, 10_000))
    sync_gamma: float = number(
        "paired comparisons: γ of gossip that keeps V small", 0.9, above(0, 1)
    )
    speedup_workers: tuple[int, ...] = whole(
        "speed-up: number of workers", (2, 4, 8, 16), within(2, 200)
    )

    curvature: float = number(
        "descent lemma: ratio of the workers' curvatures", 10, within(1, 1000)
    )
    lemma_states: int = whole("descent lemma: random states", 1000, within(1, 1_000_000))

    def __post_init__(self) -> None:
        """Limit the sizes; refuse directed graphs, and least squares with several solutions."""
        for names in (
            *("workers delay_rounds", "workers floor_dimension", "sgd_workers samples dimension"),
            *("sgd_workers batch_size dimension repeats", "steps repeats"),
            *("trial_steps trial_repeats", "leading_steps trial_repeats"),
            *("workers random_rounds", "sgd_workers lemma_states"),
        ):
            limit_product(self, *names.split())
        check_undirected([*self.topologies, self.sgd_topology])
        most = f"it must be {self.samples} (samples of a worker) or less: no solution is unique"
        check(self.dimension <= self.samples, "dimension", self.dimension, most)


#: The topology of rows ``gaps`` on a random graph that is drawn in each step.
DRAWN = "redrawn"

#: The forms of ``bounds.finite_time_bound``.
TIMES = ("paper", "corrected", "sharp")

OF_GRAPHS = ["topology", "n"]

#: The kinds of rows, in their order in shipped tables: what yields the values of the columns, row
#: by row (``module:function`` in this folder), and then the names of the columns. Where the first
#: are ``OF_GRAPHS``, the function is called with each graph, its n and W, and yields the others.
KINDS = {
    "bounds": f"continuous:consensus_times topology n p gamma draw V0 measured {' '.join(TIMES)}",
    "delays": "rounds:delays topology n p gamma tolerated limit limit_of_rounds residual floor",
    "gaps": "least_squares:gaps method n T gap bound printed V topology distance",
    "floors": "rounds:chatter_floors topology n p gamma dimension measured predicted",
    "decays": "rounds:decays topology n gamma measured limit",
    "means": "continuous:means topology n draw measured",
    "orders": "continuous:consensus_order seed n p time",
    "logs": "continuous:exponential_decay topology n p draw measured",
    "sums": "least_squares:sums T a summed closed least",
    "speedup": "least_squares:gaps_by_workers seed n T gap",
    "races": "least_squares:races method seed n T gap noise_term sync_term",
    "descents": "least_squares:descents form n eta_L left right broken",
    "spreads": "least_squares:spreads form topology n gamma T V limit",
    "degrees": "rounds:degrees topology n weights share gamma limit residual",
    "limits": "rounds:limits topology n step tolerated limit",
    "unit_steps": "rounds:unit_steps topology n delay limit residual",
    "marginal": "rounds:marginal topology n delay share residual",
    "random": "rounds:random_graphs form n p gamma seed residual",
    "switches": "continuous:switches signal seed rate n limit",
    "failures": "rounds:failures topology n p loss residual without",
}


def table_of(kind: str, options: TheoryOptions) -> Table:
    """The rows of a kind, measured."""
    measure, *columns = KINDS[kind].split()
    measured = resolve_name(f"ngo.theorems.{measure}")
    if columns[:2] != OF_GRAPHS:
        return pd.DataFrame(list(measured(options)), columns=columns)
    graphs = resolve_name("ngo.theorems.graphs:graphs")(options, options.workers)
    rows = [(*names, *row) for *names, W in graphs for row in measured(options, names[1], W)]
    return pd.DataFrame(rows, columns=columns)


def rows_of(table: Table, kind: str) -> Table:
    """The rows of ``kind`` with the columns that they have; a UserError if there are none."""
    rows = table[table["kind"] == kind] if "kind" in table else table.iloc[:0]
    if rows.empty:
        raise UserError(f"kind: the theory table has no rows of kind {kind!r}; measure it again.")
    return rows.drop(columns="kind").dropna(axis=1, how="all").reset_index(drop=True)
