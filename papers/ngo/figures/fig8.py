"""Top: the synchronization index V and the test loss at the end of all runs; accuracy and V of
gossip and NGO against the synchronization rate γ. Bottom: accuracy along training at a small and at
large γ.

*The paper* has two panels: synchronization correlates strongly with performance, as in (a), and NGO
oscillates and loses performance for large γ, as in (b). It names neither data nor p nor γ, so (b)
has the shared p and a stronger nonlinearity, which loses more. *Look at* the γ at which NGO breaks
down while linear gossip does not. The floor is the V of the two-cycle in which NGO without
gradients ends in rounds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ngo import plots
from ngo.analysis.chatter import chatter_floor
from ngo.analysis.correlations import pooled_correlation, within_seeds
from ngo.analysis.curves import along, part, points, scores, together
from ngo.analysis.seed_means import check_apart
from ngo.plots import captions
from ngo.plots.curve_panels import by_exponent, dots, lines
from ngo.plots.declaration import figure
from ngo.plots.run_scatter import scatter
from ngo.plots.style import Style
from ngo.printing.tables import bracketed, number
from verdicts.rows.evaluations import final

APART = ["method", "p", "topology", "gamma"]
RUN = [*APART, "seed", "loss", "accuracy", "V", "diverged"]


@figure(
    "fig8",
    section="5.6 Synchronization rate and stability",
    title="Figure 8: V against loss; stability against the synchronization rate γ",
    reads={"metrics": "fig8", "course": "fig8_course"},
    apart=("method", "p", "topology", "gamma"),
)
def numbers(metrics: pd.DataFrame, course: pd.DataFrame) -> pd.DataFrame:
    """The ends of the runs in ``metrics``, and the ``course`` of runs at a few γ, in six parts.

    ``by_gamma``: means of accuracy and V by method, p and γ, on the topology with most values of γ.
    ``floor``: the predicted floor of NGO's V there. ``runs``: the end of every run; ``at_shared``
    says whether runs on all topologies have its method, p and γ. ``correlation``: that of log V
    with the loss, within a seed. ``course``: the mean accuracy along training. ``each``: that of
    single runs. Raises a UserError for runs of one seed that it can't tell apart.
    """
    last = final(scores(metrics))
    check_apart(last, APART)
    rates = last.groupby("topology")["gamma"].unique()
    swept = rates.map(len).idxmax()
    sweep = last[last["topology"] == swept]
    cases = pd.MultiIndex.from_frame(last[["method", "p", "gamma"]])
    shared = set.intersection(*(set(cases[last["topology"] == name]) for name in rates.index))
    every = scores(course)
    return together(
        by_gamma=points(sweep, APART, ["accuracy", "V"]),
        floor=chatter_floor(sweep[sweep["method"] == "ngo"]),
        runs=last[RUN].assign(at_shared=cases.isin(list(shared))),
        course=along(every, APART, "epoch", ["accuracy"]),
        each=every[["run", *APART, "epoch", "accuracy"]],
        correlation=pd.DataFrame([vars(pooled_correlation(within_seeds(last, "loss")))]),
    )


def note(numbers: pd.DataFrame, metrics: pd.DataFrame, course: pd.DataFrame) -> list[str]:
    """How to read the drawing."""
    return [
        "Dotted: the predicted floor of NGO's V. Thin lines by epoch: single runs. The correlation "
        "is that of log V with the loss within a seed, pooled over seeds by Fisher's z.",
        *captions.about(pd.concat([metrics, course], ignore_index=True)),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """V against loss of all runs; accuracy and V against γ; accuracy by epoch at a few γ."""
    names = ("by_gamma", "floor", "runs", "course", "each")
    by_gamma, floor, ends, course, each = (part(numbers, name) for name in names)
    shared = ends["at_shared"].astype(bool)
    rates = sorted(course["gamma"].dropna().unique())
    several = by_gamma.groupby("method")["p"].nunique().max() > 1

    def named(style: Style, rows: pd.DataFrame) -> str:
        return style.label + (rf", $p = {rows['p'].iloc[0]:g}$" if several else "")

    figure = plots.new_figure(5)
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    runs, accuracy, index = top.subplots(1, 3, width_ratios=[1.2, 1, 1])
    scatter(runs, ends, "loss", ~shared)
    for axis, value in ((accuracy, "accuracy"), (index, "V")):
        plots.value_ticks(axis, sorted(by_gamma["gamma"].unique()))
        dots(axis, by_exponent(by_gamma, named), "gamma", value)
        axis.set_xlabel(r"synchronization rate $\gamma$")
    index.autoscale(False)
    for _, own in floor.groupby("p"):
        index.plot(own["gamma"], own["mean"], ":", color="0.3", lw=1)
    panels = bottom.subplots(1, len(rates), squeeze=False)[0]
    for axis, rate in zip(panels, rates, strict=True):
        for style, rows in by_exponent(each[each["gamma"] == rate], named):
            for _, run in rows.groupby("run"):
                axis.plot(run["epoch"], run["accuracy"], color=style.colour, lw=0.4, alpha=0.5)
        lines(axis, by_exponent(course[course["gamma"] == rate], named), "epoch", "accuracy")
        axis.set_xlabel("epoch")
    plots.share_limits(*panels)
    rate = ", ".join(f"{gamma:g}" for gamma in sorted(ends.loc[shared, "gamma"].unique()))
    swept = by_gamma["topology"].iloc[0]
    plots.titles(
        (runs, accuracy, index, *panels),
        _in_words(rf"all runs; large: $\gamma = {rate}$", part(numbers, "correlation").iloc[0]),
        f"accuracy, {swept}",
        f"synchronization, {swept}",
        *(rf"{course['topology'].iloc[0]}, $\gamma = {gamma:g}$" for gamma in rates),
    )
    plots.legend(figure, runs, *([accuracy] if several else []))
    return figure


def _in_words(title: str, found: pd.Series) -> str:
    """``title`` with the pooled correlation below, and its interval if there is one."""
    if not np.isfinite(found["r"]):
        return title
    interval = bracketed(found["low"], found["high"])
    return f"{title}\nwithin a seed $r$ = {number(found['r'])}{interval}"
