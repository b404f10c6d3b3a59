"""How far the workers' kept models are from their mean."""

from dataclasses import dataclass

import ngo


@dataclass(frozen=True)
class DisagreementOptions:
    """Options of ``disagreement``."""

    norm: float = ngo.number("order of the norm", 2.0, ngo.at_least(1))


@ngo.measurement("disagreement", DisagreementOptions, on_models=True)
def disagreement(options, models, data_root):
    """Measure the distance of each worker's model from the mean of all."""
    import pandas as pd
    from torch.linalg import vector_norm

    from ngo.training.snapshots import load_snapshots

    rows = []
    for spec, snapshots in map(load_snapshots, models):
        for step, X in ((step, kept["X"].double()) for step, kept in snapshots.items()):
            distances = vector_norm(X - X.mean(0), ord=options.norm, dim=1).tolist()
            rows += [(spec.id, step, i, distance) for i, distance in enumerate(distances)]
    return pd.DataFrame(rows, columns=["run", "step", "worker", "distance"])
