"""What averaging all workers now would gain: the mean model beside the workers' own models."""

from __future__ import annotations

import pandas as pd

from ngo.analysis.curves import along, points
from ngo.analysis.prices import SITUATION, TUNED, case_names
from verdicts.rows.best_fields import at_best
from verdicts.rows.evaluations import final

BY = [*SITUATION, "case"]


def merges(metrics: pd.DataFrame) -> pd.DataFrame:
    """The evaluations of each case's runs at its best p, γ and learning rate, with ``gain``.

    ``gain`` is the accuracy of the mean of all models − the mean of their accuracies, in points.
    Cases without a topology, which have one model, are left out.
    """
    runs = metrics[metrics["topology"].notna()]
    names = case_names(runs.drop_duplicates("run").set_index("run"))
    chosen = at_best(runs.assign(case=runs["run"].map(names)), TUNED, BY)
    gain = 100 * (chosen["consensus_accuracy"] - chosen["workers_accuracy_mean"])
    return chosen.assign(gain=gain).reset_index(drop=True)


def merge_curves(found: pd.DataFrame) -> pd.DataFrame:
    """The gain and V by epoch for each case (``curves.along``)."""
    return along(found, BY, "epoch", ["gain", "V"])


def merge_ends(found: pd.DataFrame) -> pd.DataFrame:
    """The gain and V at the end for each case (``curves.points``)."""
    last = final(found)
    return points(last, BY, ["gain", "V"])
