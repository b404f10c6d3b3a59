"""Test accuracy of the consensus model and the synchronization index V along training, and the
accuracy at its end, a bar with a 95 % interval for each case. Cases are told apart by the fields in
which runs differ. Without accuracies, it is the test loss.

*Look at* the claims for differences between cases: they are paired by seed, and these intervals are
not.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ngo import plots
from ngo.analysis.apart import CELL
from ngo.analysis.curves import along, part, points, scores, together
from ngo.plots.curve_panels import Cases, lines
from ngo.plots.declaration import figure
from ngo.plots.style import Style, kth_style
from ngo.printing.tables import number
from ngo.training.spec import FIELDS
from verdicts.row import ABSENT
from verdicts.rows.evaluations import final

LABELS = {"accuracy": "test accuracy (%)", "loss": "test loss", "V": "index $V$"}
FIRST = ("method", *CELL[:3])
"""The fields that tell cases apart first."""


@figure("default", section="Experiments", title="An experiment", tables=("default",), stands_for="")
def numbers(metrics: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds of the score and of V by ``case``: ``ends``, and the ``course`` to them.

    The course is along virtual seconds if all runs have them, else along epochs.
    """
    runs = scores(metrics).assign(case=cases(metrics))
    score = "loss" if runs["accuracy"].isna().all() else "accuracy"
    return together(
        ends=points(final(runs).sort_values(_fields(runs)), ["case"], [score, "V"]),
        course=along(runs, ["case"], _axis(runs), [score, "V"]),
    )


def cases(metrics: pd.DataFrame) -> pd.Series:
    """A name for the case of each row: the values of the fields that tell runs apart.

    A field that tells no more runs apart than those before it is left out.
    """
    known = _fields(metrics)
    values = metrics[known].astype(object).where(metrics[known].notna(), "").map(str)
    chosen: list[str] = []
    count = 1
    for name in known:
        if (more := len(values[[*chosen, name]].drop_duplicates())) > count:
            chosen, count = [*chosen, name], more
    told = []
    for name in chosen or ["method"]:
        named = _shared(name, values)
        told.append([_told(name, value, named=named) for value in values[name]])
    names = [", ".join(filter(None, row)) for row in zip(*told, strict=True)]
    return pd.Series(names, values.index)


def _fields(metrics: pd.DataFrame) -> list[str]:
    """The fields in a tidy table that may tell runs apart, ``FIRST`` first."""
    known = [name for name in FIELDS if name in metrics and name != "seed"]
    return sorted(known, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


def _shared(name: str, values: pd.DataFrame) -> bool:
    """Whether another field has a value of this one: ``sgd`` is a local and an outer rule."""
    own = set(values[name]) - {""}
    return name not in FIRST and any(
        FIELDS[other].kind is str and own & set(values[other])
        for other in values.columns.drop(name)
    )


def _told(name: str, value: str, *, named: bool) -> str:
    """``ring`` for a name, ``p = 0.9`` for a number, nothing for a field that has no value."""
    if value and FIELDS[name].kind in (int, float):
        value, named = f"{float(value):g}", True
    return f"{name} = {value}".replace("_", " ") if value and named else value.replace("_", " ")


def _axis(table: pd.DataFrame) -> str:
    timed = "virtual_seconds" in table and table["virtual_seconds"].notna().all()
    return "virtual_seconds" if timed else "epoch"


def _score(numbers: pd.DataFrame) -> str:
    return "loss" if (numbers["value"] == "loss").any() else "accuracy"


def draw(numbers: pd.DataFrame) -> Figure:
    """Left: the score and V along training. Right: the bars, in the colours of the lines."""
    ends, course, score = part(numbers, "ends"), part(numbers, "course"), _score(numbers)
    names = list(ends["case"].unique())
    looks = [kth_style(k, name) for k, name in enumerate(names)]
    curves: Cases = [(look, course[course["case"] == look.label]) for look in looks]
    drawn = plots.new_figure(max(4, 1.5 + 0.3 * len(names)))
    axes = drawn.subplot_mosaic([["score", "ends"], ["V", "ends"]])
    for value, axis in ((score, axes["score"]), ("V", axes["V"])):
        positive = course[(course["value"] == value) & ~(course["mean"] <= 0)]  # for a log axis
        seen = [(look, rows) for look, rows in curves if look.label in set(positive["case"])]
        if seen:
            lines(axis, seen, _axis(course), value)
        axis.set_ylabel(LABELS[value])
        axis.set_xlabel(_axis(course).replace("_", " "))
    bars = ends[ends["value"] == score].set_index("case").loc[names]
    _bars(axes["ends"], looks, bars)
    axes["ends"].set_xlabel(LABELS[score])
    plots.titles([axes["score"], axes["V"], axes["ends"]], score, "synchronization", "at the end")
    return drawn


def _bars(axis: Axes, looks: list[Style], bars: pd.DataFrame) -> None:
    """A horizontal bar for each case, the first at the top, with its interval."""
    means = bars["mean"].to_numpy(dtype=float)
    spread = np.nan_to_num([means - bars["low"], bars["high"] - means])
    places, colours = range(len(looks)), [look.colour for look in looks]
    axis.barh(places, np.nan_to_num(means), xerr=spread, color=colours, alpha=0.7, capsize=2)
    lost = [f" (× {count})" if count else "" for count in bars["diverged"]]
    axis.set_yticks(places, [look.label + text for look, text in zip(looks, lost, strict=True)])
    axis.invert_yaxis()
    axis.yaxis.tick_right()


def show(numbers: pd.DataFrame) -> pd.DataFrame:
    """The ends as they are printed."""
    ends, score = part(numbers, "ends"), _score(numbers)
    of = {value: ends[ends["value"] == value].set_index("case") for value in (score, "V")}
    digits = {"accuracy": 2, "loss": 4}[score]
    printed = [
        {
            "Case": row.Index,
            "Accuracy, %" if score == "accuracy" else "Loss": number(row.mean, digits),
            "95 % interval": ABSENT
            if pd.isna(row.low)
            else f"{number(row.low, digits)} to {number(row.high, digits)}",
            "V": ABSENT if pd.isna(V) else f"{V:.3g}",
            "Seeds": str(row.seeds),
            "Diverged": str(row.diverged or ""),
        }
        for row, V in zip(of[score].itertuples(), of["V"]["mean"], strict=True)
    ]
    return pd.DataFrame(printed)


def caption(numbers: pd.DataFrame, metrics: pd.DataFrame) -> str:
    """What the columns are."""
    return (
        f"The end of training: {_score(numbers)} of the consensus model and the synchronization "
        "index V, means over seeds; of V, and of losses, geometric means."
    )
