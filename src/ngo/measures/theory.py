"""Quantities that the paper's theorems bound, measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ngo.common.fields import above, at_least, within
from ngo.common.registry import UserError
from ngo.gossip.topology import TOPOLOGIES
from ngo.measures.measurement import Case, measured, measurement
from ngo.measures.settings import limit_product, setting

if TYPE_CHECKING:
    import pandas as pd

# Up to p = 1, T* and the floors exceed the range of floating-point numbers.
_SUBLINEAR = within(0.5, 0.99)


@dataclass(frozen=True)
class TheorySettings:
    """Settings of ``theory_table``: of all graphs, and of each of its parts."""

    topologies: tuple[str, ...] = setting(
        "topology", ("ring", "random", "complete"), names=TOPOLOGIES
    )
    workers: tuple[int, ...] = setting("number of workers of each graph", (2, 5), **within(2, 200))
    u: float = setting("probability of an edge in a random graph", 0.4, **above(0, 1))
    p: tuple[float, ...] = setting("exponent of the coupling φ_p", (0.5, 0.75, 0.9), **_SUBLINEAR)
    seed: int = setting("seed of graphs, states and data", 0, **at_least(0))

    tol: float = setting("share of V(0) that counts as consensus", 1e-12, **within(1e-30, 0.5))
    draws: int = setting("initial states of each graph", 3, **within(1, 1000))

    delay_step: float = setting("delays: length γ of a round", 0.1, **above(0, 1))
    delay_rounds: int = setting("delays: rounds", 400, **within(10, 100_000))
    delay_share: float = setting(
        "delays: for p < 1, share of V below which it must fall", 0.01, **above(0, 1)
    )

    marginal_delay: tuple[int, ...] = setting(
        "delays at the limit: rounds", (5, 20), **within(1, 1000)
    )

    starts: int = setting("order of consensus times: initial states", 20, **within(1, 10_000))
    order_p: tuple[float, ...] = setting(
        "order of consensus times: exponent of φ_p", (0.5, 1, 2), **within(0.5, 4)
    )
    order_share: float = setting(
        "order of consensus times: share of V(0) that counts as consensus",
        0.01,
        **within(1e-30, 0.5),
    )

    degree_share: tuple[float, ...] = setting(
        "discrete consensus: γ as a share of 1/Δ", (0.1, 0.5, 0.9, 0.99, 1.5), **above(0, 10)
    )
    random_rounds: int = setting("random graphs: rounds", 400, **within(10, 100_000))
    link_loss: float = setting("failing links: probability in a round", 0.5, **above(0, 0.99))

    floor_gamma: tuple[float, ...] = setting(
        "chatter, decay of linear gossip, V under SGD: synchronization rate γ",
        (0.1, 1.0),
        **within(0.001, 10),
    )
    floor_dimension: int = setting("chatter: coordinates of a state", 20, **within(1, 10_000))

    sgd_topology: str = setting("least squares: topology of the workers", "ring", names=TOPOLOGIES)
    sgd_workers: int = setting("least squares: number of workers", 10, **within(2, 200))
    sgd_gamma: float = setting("least squares: synchronization rate γ", 0.1, **above(0, 0.99))
    sgd_p: float = setting("least squares: exponent of φ_p", 0.9, **_SUBLINEAR)
    samples: int = setting("least squares: samples per worker", 100, **within(1, 100_000))
    dimension: int = setting("least squares: features of a sample", 5, **within(1, 1000))
    noise: float = setting("least squares: standard deviation of noise", 0.5, **above(0, 1000))
    heterogeneity: float = setting(
        "least squares: distance between the workers' solutions", 0.5, **within(0, 1000)
    )
    batch_size: int = setting("least squares: samples per worker and step", 4, **within(1, 100_000))
    steps: int = setting("least squares: training steps T", 1000, **within(1, 1_000_000))
    points: int = setting("least squares: values of T in the table", 12, **within(1, 1000))
    repeats: int = setting("least squares: runs per mean", 10, **within(1, 10_000))
    sgd_distance: tuple[float, ...] = setting(
        "least squares: distance of the start from the solution", (3, 30), **above(0, 1000)
    )

    trials: int = setting("seeds of paired comparisons", 5, **within(1, 1000))
    trial_steps: int = setting("paired comparisons: training steps", 500, **within(10, 1_000_000))
    trial_repeats: int = setting("paired comparisons: runs per mean", 5, **within(1, 10_000))
    sync_gamma: float = setting(
        "paired comparisons: γ of gossip that keeps V small", 0.9, **above(0, 1)
    )
    speedup_workers: tuple[int, ...] = setting(
        "speed-up: number of workers", (2, 4, 8, 16), **within(2, 200)
    )

    curvature: float = setting(
        "descent lemma: ratio of the workers' curvatures", 10, **within(1, 1000)
    )
    lemma_states: int = setting("descent lemma: random states", 1000, **within(1, 1_000_000))

    def __post_init__(self) -> None:
        """Limit the sizes, and ask for enough samples that least squares has one solution."""
        limit_product(self, "workers", "delay_rounds")
        limit_product(self, "workers", "floor_dimension")
        limit_product(self, "sgd_workers", "samples", "dimension")
        limit_product(self, "sgd_workers", "batch_size", "dimension", "repeats")
        limit_product(self, "steps", "repeats")
        limit_product(self, "trial_steps", "trial_repeats")
        limit_product(self, "workers", "random_rounds")
        limit_product(self, "sgd_workers", "lemma_states")
        if self.dimension > self.samples:
            raise UserError(
                f"dimension: {self.dimension} is more than a worker's {self.samples} samples, so "
                f"that the solution is not unique; it must be {self.samples} or less."
            )


COLUMNS = (
    *("kind", "topology", "n", "p", "gamma", "draw", "V0", "measured", "paper", "corrected"),
    *("sharp", "tolerated", "limit", "limit_of_rounds", "residual", "floor", "method", "T"),
    *("gap", "bound", "printed", "V", "distance", "predicted", "time", "a", "summed", "closed"),
    *("least", "noise_term", "sync_term", "form", "eta_L", "left", "right", "broken", "weights"),
    *("share", "step", "delay", "signal", "rate", "loss", "without"),
)


def _cases(settings: TheorySettings) -> Iterator[Case]:
    from ngo.measures.theorems.parts import PARTS

    for kind in PARTS:
        yield Case({"kind": kind}, partial(_measured, settings, kind))


@measurement("theory", TheorySettings, columns=COLUMNS, cases=_cases)
def theory_table(settings: TheorySettings) -> pd.DataFrame:
    """Measure what the theorems bound.

    Consensus times, delays and chatter floors for each --topologies, --workers and --p; convergence
    of SGD on least squares, where every constant of the theorems can be computed.

    The column kind of the table names the measurement of a row.
    """
    return measured(_cases(settings))


def _measured(settings: TheorySettings, kind: str) -> pd.DataFrame:
    from ngo.measures.theorems.parts import PARTS
    from ngo.native.pool import one_intra_op_thread

    with one_intra_op_thread():
        return PARTS[kind](settings).assign(kind=kind)
