"""Degrees and spectral gaps of topologies (Table S1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ngo.common.fields import above, at_least, choice, number, whole, within
from ngo.common.lazy import Table, pd
from ngo.common.registries import TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import spectral_gap
from ngo.gossip.schedule import Mixing
from ngo.measures.measurement import Facts, measurement
from verdicts import estimate

#: A graph is connected if its spectral gap is above this: the gap is 0 otherwise, but rounded.
CONNECTED = 1e-9


@dataclass(frozen=True)
class SpectraOptions:
    """Options of ``spectral_table``."""

    topology: tuple[str, ...] = choice("topology", ("ring", "complete"), TOPOLOGIES)
    workers: tuple[int, ...] = whole("number of workers n", (4, 16, 36, 64), within(2, 2000))
    u: float = number("probability of an edge in a random graph", 0.4, above(0, 1))
    draws: int = whole("random graphs per mean", 200, within(1, 100_000))
    seed: int = whole("seed of random graphs", 0, at_least(0))


COLUMNS = (
    *("topology", "u", "n", "draws", "degree", "spectral_gap", "spectral_gap_std", "connected"),
    "connected_gap",
)


def _cases(options: SpectraOptions) -> Iterator[Facts]:
    return ({"topology": name, "n": n} for name in options.topology for n in options.workers)


@measurement(
    "spectra", SpectraOptions, columns=COLUMNS, cases=_cases, code=("verdicts/statistics",)
)
def spectral_table(options: SpectraOptions, topology: str, n: int) -> Table:
    """Measure degrees and spectral gaps of topologies.

    The table has a row for each --topology and --workers. Values of random graphs are means over
    --draws graphs, with the standard deviation of the gap, the share of connected graphs, and the
    mean gap of those.

    Compare a ring with a torus of 16 workers:
      ngo spectra --topology ring --topology torus --workers 16 --out gaps.parquet
    """
    entry = TOPOLOGIES[topology]
    mixing = Mixing(topology, n, options, torch_stream(options.seed, "spectra", n))
    draws = options.draws if entry.varies else 1
    matrices = [mixing.at(t) for t in range(draws)]
    gaps = [spectral_gap(W) for W in matrices]
    degrees = [W.edges / n for W in matrices]
    connected = [gap for gap in gaps if gap > CONNECTED]
    gap, u = estimate(gaps), options.u if entry.varies else math.nan
    of_connected = estimate(connected).mean if connected else math.nan
    row = topology, u, n, draws, estimate(degrees).mean, gap.mean, gap.std, len(connected) / draws
    return pd.DataFrame([(*row, of_connected)], columns=COLUMNS)
