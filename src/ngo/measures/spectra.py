"""Degrees and spectral gaps of topologies (Table S1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.common.fields import above, at_least, within
from ngo.gossip.topology import TOPOLOGIES
from ngo.measures.measurement import measurement
from ngo.measures.settings import setting

if TYPE_CHECKING:
    import pandas as pd

CONNECTED = 1e-9
"""A graph is connected if its spectral gap is above this: the gap is 0 otherwise, but rounded."""


@dataclass(frozen=True)
class SpectraSettings:
    """Settings of ``spectral_table``."""

    topology: tuple[str, ...] = setting("topology", ("ring", "complete"), names=TOPOLOGIES)
    workers: tuple[int, ...] = setting("number of workers n", (4, 16, 36, 64), **within(2, 2000))
    u: float = setting("probability of an edge in a random graph", 0.4, **above(0, 1))
    draws: int = setting("random graphs per mean", 200, **within(1, 100_000))
    seed: int = setting("seed of random graphs", 0, **at_least(0))


COLUMNS = (
    *("topology", "u", "n", "draws", "degree", "spectral_gap", "spectral_gap_std", "connected"),
    "connected_gap",
)


@measurement("spectra", SpectraSettings, columns=COLUMNS)
def spectral_table(settings: SpectraSettings) -> pd.DataFrame:
    """Measure degrees and spectral gaps of topologies.

    The table has a row for each --topology and --workers. Values of random graphs are means over
    --draws graphs, with the standard deviation of the gap, the share of connected graphs, and the
    mean gap of those.
    """
    import pandas as pd

    from ngo.analysis.statistics import estimate
    from ngo.common.seeding import torch_stream
    from ngo.gossip.network import edges
    from ngo.gossip.spectrum import spectral_gap
    from ngo.gossip.topology import Mixing

    records = []
    for name in settings.topology:
        entry = TOPOLOGIES[name]
        for n in settings.workers:
            mixing = Mixing(name, n, settings, torch_stream(settings.seed, "spectra", n))
            draws = settings.draws if entry.varies else 1
            matrices = [mixing.at(t) for t in range(draws)]
            gaps = [spectral_gap(W) for W in matrices]
            degrees = [edges(W) / n for W in matrices]
            connected = [gap for gap in gaps if gap > CONNECTED]
            records.append(
                {
                    "topology": name,
                    "u": settings.u if entry.varies else float("nan"),
                    "n": n,
                    "draws": draws,
                    "degree": estimate(degrees).mean,
                    "spectral_gap": estimate(gaps).mean,
                    "spectral_gap_std": estimate(gaps).std,
                    "connected": len(connected) / draws,
                    "connected_gap": estimate(connected).mean if connected else float("nan"),
                }
            )
    return pd.DataFrame(records)
