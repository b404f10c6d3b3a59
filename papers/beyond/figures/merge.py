"""The accuracy of the mean of all workers − the mean of the workers' accuracies, at each evaluation
of the runs of `price`: what one merge of all models would gain at that moment. Left: against V.
Right: over training.

*The question:* how much accuracy is lost by not being synchronized, and does V tell it?
"""

from __future__ import annotations

import pandas as pd

from ngo import plots
from ngo.analysis.combinations import TUNED, case_names
from ngo.analysis.curves import along, part, points, together
from ngo.plots import captions
from ngo.plots.case_styles import case_styles
from ngo.plots.curve_panels import lines
from ngo.plots.declaration import Tables, figure
from ngo.printing.tables import bracketed, number
from verdicts.rows.best_fields import at_best
from verdicts.rows.evaluations import final

BY = ["dataset", "partition", "case"]
MERGES, ENDS = "merge", "merge_ends"

NOTE = (
    "The gain of merging is the accuracy of the mean of all models − the mean of the workers' "
    "accuracies, at each evaluation. Each case at its own best p, γ and learning rate by held-out "
    "accuracy."
)


@figure(
    "merge",
    section="Any method with any coupling",
    title="Merge once: what averaging all workers would gain, against V",
    reads="price",
    tables=("merge_ends",),
)
def numbers(metrics: pd.DataFrame) -> Tables:
    """The gain and V of each case: means along training (``course``) with every evaluation
    (``each``), and means at the end.
    """
    found = merges(metrics)
    each = found[["run", *BY, "topology", "seed", "epoch", "V", "gain", "diverged"]]
    return {
        MERGES: together(course=along(found, BY, "epoch", ["gain", "V"]), each=each),
        ENDS: points(final(found), BY, ["gain", "V"]),
    }


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


def note(numbers: Tables, metrics: pd.DataFrame) -> list[str]:
    """What the gain is."""
    each = part(numbers[MERGES], "each")
    return [NOTE, captions.intervals(metrics), captions.diverged(each)]


def caption(numbers: Tables, metrics: pd.DataFrame) -> str:
    """What the columns are."""
    mean = captions.mean_over_seeds(metrics)
    return f"At the end of training, {mean}. V: geometric mean. {NOTE}"


def draw(numbers: Tables) -> plots.Figure:
    """The gain against V of all evaluations, and by epoch, for each data set."""
    found = part(numbers[MERGES], "each")
    sets = list(found.groupby(BY[:-1], sort=False))
    courses = part(numbers[MERGES], "course").groupby(BY[:-1])
    looks = case_styles(found)
    figure, axes = plots.panels(2.3 * len(sets) + 0.8, len(sets), 2)
    for (left, right), (situation, rows) in zip(axes, sets, strict=True):
        plots.log_axis(left.xaxis)
        for name, case in rows[rows["V"] > 0].groupby("case"):
            left.plot(case["V"], case["gain"], **looks[name].marks, markersize=2.5, alpha=0.5)
        left.set(xlabel="index $V$", ylabel="gain of merging (points)")
        own = courses.get_group(situation).groupby("case")
        lines(right, [(looks[name], case) for name, case in own], "epoch", "gain")
        right.set(xlabel="epoch", ylabel="")
        for axis in (left, right):
            axis.axhline(0, color="0.6", lw=1)
    titles = [title for name, _ in sets for title in (", ".join(name), "by epoch")]
    plots.titles(axes.flat, *titles)
    plots.legend(figure, axes[0, 1])
    return figure


def show(numbers: Tables) -> pd.DataFrame:
    """The table as it is printed."""
    wide = numbers[ENDS].pivot(index=BY, columns="value").sort_index()
    gains = zip(*(wide[name, "gain"] for name in ("mean", "low", "high")), strict=True)
    told = [number(mean, plus=True) + bracketed(*ends) for mean, *ends in gains]
    names = {"dataset": "Data", "partition": "Partition", "case": "Case"}
    shown = wide.index.to_frame(index=False).rename(columns=names)
    return shown.assign(**{"Gain of merging": told, "V": [f"{V:.3g}" for V in wide["mean", "V"]]})
