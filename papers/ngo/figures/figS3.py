"""The test accuracy of the consensus model along training for n workers, with the whole data set
split evenly among them, on three topologies. All runs take equally many steps. Below: the steps to
a target accuracy, and NGO − gossip, paired by seed.

*The paper:* gossip slows down in the order of the spectral gaps (Table S1), and NGO is consistently
above linear gossip, by more for larger n. *Look at* the order of ring, random and complete graph,
and at how the difference changes with n.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ngo.analysis.comparisons import gains
from ngo.analysis.curves import along, part, points, scores, together
from ngo.analysis.row_order import TOPOLOGY_ORDER
from ngo.analysis.seed_means import check_apart
from ngo.figures import captions, plots
from ngo.figures.curve_panels import Cases, by_method, dots, lines
from ngo.figures.declaration import figure
from verdicts.rows.evaluations import at_equal_steps, final, shared_steps, time_to

CASE = ["method", "topology", "workers"]
VALUES = ["accuracy", "V"]


@figure(
    "figS3",
    section="Supplement",
    title="Figure S3: scaling, the whole data set split evenly",
    apart=("method", "topology", "workers"),
    values={"target_accuracy": (0, 1)},
    stands_for="cifar10",
)
def numbers(metrics: pd.DataFrame, target_accuracy: float) -> pd.DataFrame:
    """The means over seeds by method, topology and workers, in four parts.

    ``course``: accuracy and V along training, until the number of ``steps`` that all runs took.
    ``ends``: the same after them. ``times``: the steps to the accuracy ``target_accuracy``, a share
    of 1, and the number of runs that are ``late`` (see ``_times``). ``gain``: the accuracy of
    NGO − gossip. Raises a UserError for runs of one seed that it can't tell apart.
    """
    every = scores(metrics)
    check_apart(final(every), CASE)
    steps = shared_steps(every)
    last = at_equal_steps(every, VALUES)
    first = last["run"].map(time_to(metrics, target_accuracy, "consensus_accuracy", "step"))
    last["steps_to_target"] = first.where(first <= steps)
    found = together(
        course=along(every[every["step"] <= steps], CASE, "step", VALUES),
        ends=points(last, CASE, VALUES),
        times=_times(last),
        gain=points(gains(last, ["topology", "workers"], "accuracy"), CASE, ["difference"]),
    )
    return found.assign(steps=steps, target=target_accuracy)


def _times(last: pd.DataFrame) -> pd.DataFrame:
    """``curves.points`` of steps_to_target, and the number of runs that are ``late``.

    The mean is NaN where a run does not reach the target, since that of the others is too small.
    """
    times = points(last, CASE, ["steps_to_target"]).rename(columns={"diverged": "late"})
    lost = last.groupby(CASE, dropna=False)["diverged"].sum().reset_index()
    times = times.merge(lost, on=CASE, how="left")
    times["late"] -= times["diverged"]
    times.loc[times["late"] > 0, ["mean", "low", "high"]] = np.nan
    return times


def note(numbers: pd.DataFrame, metrics: pd.DataFrame, target_accuracy: float) -> list[str]:
    """How to read the drawing."""
    late = int(numbers["late"].sum())
    sizes = " or ".join(map(str, sorted(metrics["batch_size"].unique())))
    missing = f"; cases with runs that do not get there ({late}) are left out" if late else ""
    return [
        "The whole data set is split evenly among the n workers; all runs take equally many steps "
        f"({numbers['steps'].iloc[0]}) of {sizes} samples a worker.",
        f"Steps to the target are linear between evaluations{missing}.",
        *captions.seeds(metrics, geometric=False),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """The accuracy along training for each n; against n, the steps to the target and NGO − gossip
    after equally many steps.
    """
    course = part(numbers, "course")
    sizes = sorted(course["workers"].unique())
    figure = plots.new_figure(4.4)
    above, below = figure.subfigures(2, 1)
    curves = above.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for axis, n in zip(curves, sizes, strict=True):
        lines(axis, by_topology(course[course["workers"] == n]), "step", "accuracy")
        axis.set_xlabel("step")
    plots.share_limits(*curves)
    for axis in curves[1:]:
        axis.set_ylabel("")
    shown = {"times": "steps_to_target", "gain": "difference"}
    against_n = below.subplots(1, 2)
    for axis, (name, value) in zip(against_n, shown.items(), strict=True):
        plots.value_ticks(axis, sizes, base=2)
        dots(axis, by_topology(part(numbers, name)), "workers", value)
        axis.set_xlabel("workers $n$")
    plots.titles(
        (*curves, *against_n),
        *(f"$n = {n}$" for n in sizes),
        f"steps to a test accuracy of {100 * numbers['target'].iloc[0]:g} %",
        "difference at equal steps, paired by seed",
    )
    plots.legend(figure, curves[0])
    return figure


def by_topology(table: pd.DataFrame) -> Cases:
    """The rows of each method and topology with their style; without a topology, the method's.

    The topologies of the paper come first, and look the same in every figure.
    """
    present = table["topology"].dropna().unique()
    topologies = [*TOPOLOGY_ORDER, *sorted(set(present) - set(TOPOLOGY_ORDER))]
    cases: Cases = []
    for look, rows in by_method(table):
        cases.append((look, rows[rows["topology"].isna()]))
        for k, topology in enumerate(topologies):
            own = rows[rows["topology"] == topology]
            cases.append((look.variant(k, f"{look.label}, {topology}"), own))
    return [(look, own) for look, own in cases if len(own)]
