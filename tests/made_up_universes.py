"""Made-up tables of universes: the runs of a plan, whose accuracies depend on sampled values."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from ngo.analysis.universes import Universe, in_universes
from ngo.training.spec import RunSpec


def table(
    specs: Sequence[RunSpec],
    universes: Sequence[Universe],
    accuracy: Callable[[RunSpec], float],
    V: Callable[[RunSpec], float] = lambda spec: 1.0,
) -> pd.DataFrame:
    """Two evaluations of each run: at the start, and at the end with these values."""
    rows = []
    for spec in specs:
        end = accuracy(spec)
        facts = {"run": spec.id, **spec.values()}
        for step, share, now in ((0, 0.1, 0.0), (10, end, V(spec))):
            scores = {"consensus_accuracy": share, "workers_accuracy_mean": share - 0.01}
            scores |= {"holdout_accuracy": share, "V": now}
            rows.append({**facts, "step": step, **scores, "diverged": not np.isfinite(end)})
    return in_universes(pd.DataFrame(rows), universes)
