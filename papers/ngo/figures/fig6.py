"""Linear gossip and NGO on the complete graph, with a small γ and with γ = 1 (whole steps), and a
consensus step after every gradient step or after every second or fifth one (local SGD), on non-iid
and iid data. The right panels show the accuracy after equally many bytes sent.

*The paper:* local SGD does not match the methods that communicate at every step, above all on
non-iid data; efficient communication is better than rare communication. *Look at* how accuracy
falls and V grows with H. At the same γ, compare NGO with H = 1 and linear coupling with H = 5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from ngo.analysis.curves import along, part, points, scores, together
from ngo.analysis.seed_means import check_apart
from ngo.figures import captions, plots
from ngo.figures.curve_panels import Cases, by_method, dots, lines
from ngo.figures.declaration import figure
from ngo.figures.style import COLOURS, METHOD_STYLES, Style
from verdicts.rows.evaluations import at_equal_bytes, final

HALF = ["dataset", "partition"]
CASE = [*HALF, "coupling", "local_steps"]
APART = [*HALF, "method", "p", "gamma", "local_steps"]

AVERAGING = "averaging"
"""Linear coupling with γ = 1; on a complete graph, every worker takes the mean of all models."""

WHOLE_NGO = "ngo, whole steps"
"""Nonlinear coupling with γ = 1."""

LOOKS = {
    **METHOD_STYLES,
    AVERAGING: Style("averaging", COLOURS[2], ":", "^"),
    WHOLE_NGO: Style(r"NGO, $\gamma = 1$", COLOURS[3], "-.", "D"),
}


@figure(
    "fig6",
    section="5.4 Communication and convergence",
    title="Figure 6: consensus every 1, 2 and 5 steps, and accuracy at equal bytes",
    apart=("dataset", "partition", "method", "p", "gamma", "local_steps"),
)
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """Accuracy and V by data set, partition, coupling and H (``local_steps``), in three parts.

    ``course``: along training. ``ends``: at its end. ``equal``: after as many bytes as the run that
    sent least in the same seed. Raises a UserError for runs of one seed that it can't tell apart.
    """
    every = with_coupling(scores(metrics))
    last = final(every)
    check_apart(last, APART)
    values = ["accuracy", "V"]
    return together(
        course=along(every, CASE, "epoch", values),
        ends=points(last, CASE, values),
        equal=points(at_equal_bytes(every, values), CASE, values),
    )


def with_coupling(metrics: pd.DataFrame) -> pd.DataFrame:
    """``metrics`` with the column ``coupling``, whatever H is.

    ``averaging`` is linear with γ = 1, ``gossip`` linear with another γ, ``ngo`` nonlinear, and
    ``ngo, whole steps`` that with γ = 1; every other method is named after itself. A run without H
    (``local_steps``) has H = 1.
    """
    coupled = metrics["method"].isin(["gossip", "ngo", "local_sgd"])
    linear = coupled & (metrics["p"] == 1)
    coupling = metrics["method"].mask(coupled, "ngo").mask(linear, "gossip")
    whole = coupled & (metrics["gamma"] == 1)
    coupling = coupling.mask(whole & linear, AVERAGING).mask(whole & ~linear, WHOLE_NGO)
    steps = metrics["local_steps"].fillna(1).astype(int)
    return metrics.assign(coupling=coupling, local_steps=steps)


def note(numbers: pd.DataFrame, metrics: pd.DataFrame) -> list[str]:
    """How to read the drawing."""
    return [
        "H: gradient steps for each consensus step. Averaging: linear coupling with γ = 1, which "
        "leaves V = 0 after each consensus step; its V is not shown. By H: solid, at the end of "
        "training; dotted, after as many bytes as the run that sent least in the same seed, linear "
        "in the bytes between evaluations.",
        *captions.about(metrics),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """A row for each data set and partition: accuracy and V along training, all couplings in one
    panel; and the accuracy against H, at the end and at equal bytes.
    """
    parts = [part(numbers, name).groupby(HALF, sort=False) for name in ("course", "ends", "equal")]
    halves = sorted(parts[0].groups, key=lambda half: half[1] == "iid")
    figure, axes = plots.panels(0.9 + 2 * len(halves), len(halves), 3)
    for row, half in zip(axes, halves, strict=True):
        course, ends, equal = (table.get_group(half) for table in parts)
        # the bands of so many curves would hide each other
        cases = _by_period(course.assign(low=np.nan, high=np.nan))
        lines(row[0], cases, "epoch", "accuracy")
        spread = [case for case in cases if case[0].colour != LOOKS[AVERAGING].colour]
        lines(row[1], spread, "epoch", "V")
        _against_period(row[2], ends, equal)
    for axis in axes[-1, :2]:
        axis.set_xlabel("epoch")
    axes[-1, 2].set_xlabel("period $H$ in steps")
    names = [name for half in halves for name in _titles(half, halves)]
    plots.titles(axes.flat, *names)
    plots.legend(figure, axes[0, 0])
    return figure


def _titles(half: tuple[str, str], halves: list[tuple[str, str]]) -> list[str]:
    dataset, partition = half
    name = "iid" if partition == "iid" else f"non-iid ({partition})"
    name = name if len({d for d, _ in halves}) == 1 else f"{dataset}, {name}"
    return [f"accuracy, {name}", "synchronization", "accuracy by $H$"]


def _by_period(table: pd.DataFrame) -> Cases:
    """The rows of each coupling and H: the coupling's colour, a line and a marker for each H."""
    counts = sorted(table["local_steps"].unique())
    cases: Cases = []
    for look, rows in by_method(table, "coupling", LOOKS):
        for every, own in rows.groupby("local_steps"):
            variant = look.variant(counts.index(every), f"{look.label}, $H = {every}$")
            cases.append((look if look == METHOD_STYLES["centralized"] else variant, own))
    return cases


def _against_period(axis: plots.Axes, ends: pd.DataFrame, equal: pd.DataFrame) -> None:
    """The accuracy against H, with a level for centralized learning."""
    counts = sorted(ends["local_steps"].unique())
    plots.value_ticks(axis, counts, base=2)
    central = METHOD_STYLES["centralized"]
    levels = [case for case in by_method(ends, "coupling", LOOKS) if case[0] == central]
    cases = [
        (replace(look, label="", line=line), rows)
        for line, table in (("-", ends), (":", equal))
        for look, rows in by_method(table, "coupling", LOOKS)
        if look != central
    ]
    dots(axis, cases, "local_steps", "accuracy", levels)
    axis.set_xlim(counts[0] / 1.3, counts[-1] * 1.3)  # markers stand side by side
