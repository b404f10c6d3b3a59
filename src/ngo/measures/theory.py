"""Quantities that the paper's theorems bound, measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.common.fields import above, at_least, within
from ngo.common.registry import UserError
from ngo.gossip.topology import TOPOLOGIES
from ngo.measures.measurement import measurement
from ngo.measures.settings import limit_product, setting

if TYPE_CHECKING:
    import pandas as pd

# Up to p = 1, T* and the floors exceed the range of floating-point numbers.
_SUBLINEAR = within(0.5, 0.99)


@dataclass(frozen=True)
class TheorySettings:
    """Settings of ``theory_table``: of all graphs, and of each of its four parts."""

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

    floor_gamma: tuple[float, ...] = setting(
        "chatter: synchronization rate γ", (0.1, 1.0), **within(0.001, 10)
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

    def __post_init__(self) -> None:
        """Limit the sizes, and ask for enough samples that least squares has one solution."""
        limit_product(self, "workers", "delay_rounds")
        limit_product(self, "workers", "floor_dimension")
        limit_product(self, "sgd_workers", "samples", "dimension")
        limit_product(self, "sgd_workers", "batch_size", "dimension", "repeats")
        limit_product(self, "steps", "repeats")
        if self.dimension > self.samples:
            raise UserError(
                f"dimension: {self.dimension} is more than a worker's {self.samples} samples, so "
                f"that the solution is not unique; it must be {self.samples} or less."
            )


@measurement("theory", TheorySettings)
def theory_table(settings: TheorySettings) -> pd.DataFrame:
    """Measure what the theorems bound.

    Consensus times, delays and chatter floors for each --topologies, --workers and --p; convergence
    of SGD on least squares, where every constant of the theorems can be computed.

    The column kind of the table says which of the four parts a row belongs to: bounds, delays, gaps
    or floors.
    """
    import pandas as pd

    from ngo.measures.theorems.chatter_floors import chatter_floors
    from ngo.measures.theorems.consensus_times import consensus_times
    from ngo.measures.theorems.convergence_gaps import convergence_gaps
    from ngo.measures.theorems.delay_tolerances import delay_tolerances
    from ngo.native.pool import one_intra_op_thread

    with one_intra_op_thread():
        tables = {
            "bounds": consensus_times(settings),
            "delays": delay_tolerances(settings),
            "gaps": convergence_gaps(settings),
            "floors": chatter_floors(settings),
        }
    return pd.concat([table.assign(kind=kind) for kind, table in tables.items()], ignore_index=True)
