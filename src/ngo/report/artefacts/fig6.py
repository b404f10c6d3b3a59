"""Figure 6: consensus every 1, 2 and 5 steps, with linear and nonlinear coupling."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo.analysis.curves import together
from ngo.analysis.periods import AVERAGING, periods
from ngo.figures import captions, plots
from ngo.figures.curve_panels import Cases, decentralized, dots, lines
from ngo.figures.output import Output
from ngo.figures.style import (
    COLOURS,
    LINES,
    MARKERS,
    METHOD_STYLES,
    Style,
    house_style,
    kth_style,
)

AVERAGING_STYLE = Style("averaging", COLOURS[2], ":", "^")


@house_style()
def make(metrics: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure from the metrics of runs."""
    runs = pd.read_parquet(metrics)
    figure, shown = draw(runs)
    plots.caption(
        figure,
        "H: gradient steps for each consensus step. Averaging: linear coupling with γ = 1, which "
        "leaves V = 0 after each consensus step; its V is not shown. By H: solid, at the end of "
        "training; dotted, after as many bytes as the run that sent least in the same seed, linear "
        "in the bytes between evaluations.",
        captions.classes(runs),
        captions.intervals(runs),
        captions.diverged(runs),
        captions.made_by(tier, runs),
    )
    return Output(plots.save_figure(figure, f"{out}/figures/fig6", shown.assign(tier=tier)))


def draw(metrics: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """A row for each data set and partition: accuracy and V along training, all couplings in one
    panel; and the accuracy against H, at the end and at equal bytes.
    """
    found = periods(metrics)
    halves = list(found.course.groupby(["dataset", "partition"], sort=False).groups)
    halves.sort(key=lambda half: half[1] == "iid")
    figure = plots.new_figure(0.9 + 2 * len(halves))
    axes = figure.subplots(len(halves), 3, squeeze=False)
    for row, half in zip(axes, halves, strict=True):
        cases = _by_period(_of(found.course, half))
        lines(row[0], _without_bands(cases), "epoch", "accuracy")
        spread = [case for case in decentralized(cases) if case[0].colour != AVERAGING_STYLE.colour]
        lines(row[1], _without_bands(spread), "epoch", "V")
        _against_period(row[2], _of(found.ends, half), _of(found.equal, half))
    for axis in axes[-1, :2]:
        axis.set_xlabel("epoch")
    axes[-1, 2].set_xlabel("period $H$ in steps")
    names = [name for half in halves for name in _titles(half, halves)]
    plots.titles(axes.flat, *names)
    plots.legend(figure, axes[0, 0])
    return figure, together(
        found.course.assign(at="epoch"),
        found.ends.assign(at="end"),
        found.equal.assign(at="equal bytes"),
    )


def _titles(half: tuple[str, str], halves: list[tuple[str, str]]) -> list[str]:
    dataset, partition = half
    name = "iid" if partition == "iid" else f"non-iid ({partition})"
    name = name if len({d for d, _ in halves}) == 1 else f"{dataset}, {name}"
    return [f"accuracy, {name}", "synchronization", "accuracy by $H$"]


def _of(table: pd.DataFrame, half: tuple[str, str]) -> pd.DataFrame:
    return table[(table["dataset"] == half[0]) & (table["partition"] == half[1])]


def _by_coupling(table: pd.DataFrame) -> Cases:
    """The rows of each coupling with its style."""
    known = {**METHOD_STYLES, AVERAGING: AVERAGING_STYLE}
    others = sorted(set(table["coupling"]) - set(known))
    looks = {**known, **{name: kth_style(k + 4, name) for k, name in enumerate(others)}}
    cases = [(look, table[table["coupling"] == name]) for name, look in looks.items()]
    return [(look, rows) for look, rows in cases if len(rows)]


def _by_period(table: pd.DataFrame) -> Cases:
    """The rows of each coupling and H: the coupling's colour, a line and a marker for each H."""
    counts = sorted(table["local_steps"].unique())
    cases: Cases = []
    for look, rows in _by_coupling(table):
        if look == METHOD_STYLES["centralized"]:
            cases.append((look, rows))
            continue
        for every, part in rows.groupby("local_steps"):
            k = counts.index(every)
            style = replace(
                look,
                label=f"{look.label}, $H = {every}$",
                line=LINES[k % len(LINES)],
                marker=MARKERS[k % len(MARKERS)],
            )
            cases.append((style, part))
    return cases


def _without_bands(cases: Cases) -> Cases:
    """``cases`` without intervals: the bands of so many curves would hide each other."""
    return [(style, rows.assign(low=np.nan, high=np.nan)) for style, rows in cases]


def _against_period(axis: Axes, ends: pd.DataFrame, equal: pd.DataFrame) -> None:
    """The accuracy against H, with a level for centralized learning."""
    counts = sorted(ends["local_steps"].unique())
    plots.value_ticks(axis, counts, base=2)
    central = METHOD_STYLES["centralized"]
    levels = [case for case in _by_coupling(ends) if case[0] == central]
    cases = [
        (replace(look, label="", line=line), rows)
        for line, table in (("-", ends), (":", equal))
        for look, rows in _by_coupling(table)
        if look != central
    ]
    dots(axis, cases, "local_steps", "accuracy", levels)
    axis.set_xlim(counts[0] / 1.3, counts[-1] * 1.3)  # markers stand side by side
