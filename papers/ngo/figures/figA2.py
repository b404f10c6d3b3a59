"""Steps until the consensus model first has an early and a late test accuracy, by the number of
workers, on the ring with iid data; and the speed-up, how many times fewer steps they are than
with the fewest workers.

*The paper* has the panels (b) and (c), and calls them a speed-up of throughput: gossip's is nearly
linear at the beginning of training, and NGO benefits from more workers throughout. Batches of a
step grow with n whatever the method; samples a second are in the figure of the engine's throughput.
Here beginning and end are two targets of accuracy, and a speed-up is in steps. *Look at* the
distance from the grey line, which is linear, and at the late target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from ngo.analysis.seed_means import check_apart
from ngo.figures import captions, plots
from ngo.figures.curve_panels import error_bars
from ngo.figures.declaration import figure
from ngo.figures.style import METHOD_STYLES
from verdicts.rows.evaluations import final, time_to
from verdicts.statistics.estimates import estimate

BY = ["method", "workers"]

FILLS = {"early": "full", "late": "none"}
"""The filling of a marker shows the target; colour and shape show the method."""


@figure(
    "figA2",
    section="Supplement, original appendix",
    title="Figure A2: steps to an early and to a late target by the number of workers",
    apart=("method", "workers"),
    values={"early_accuracy": (0, 100), "late_accuracy": (0, 100)},
)
def numbers(metrics: pd.DataFrame, early_accuracy: float, late_accuracy: float) -> pd.DataFrame:
    """``speedup_means`` of the steps to both targets, which are test accuracies in percent."""
    targets = {"early": early_accuracy, "late": late_accuracy}
    return speedup_means(steps_to_targets(metrics, targets))


def steps_to_targets(metrics: pd.DataFrame, targets: Mapping[str, float]) -> pd.DataFrame:
    """The steps after which each run reaches each of ``targets``, accuracies in percent by name.

    A row for each run and target. Columns: target, accuracy, method, workers, seed; ``steps``,
    inf for a run that never gets there; ``speedup``, the steps of the same method and seed with
    the fewest workers over these, 0 for inf, NaN if the fewest never get there. Centralized runs
    are a row of every method: one worker has no neighbour, and that is its training.
    """
    last = final(metrics)
    check_apart(last, BY)
    alone = last["method"] == "centralized"
    methods = last.loc[~alone, "method"].unique()
    last = pd.concat([last[~alone], *(last[alone].assign(method=name) for name in methods)])
    tables = []
    for name, accuracy in targets.items():
        steps = time_to(metrics, accuracy / 100, "consensus_accuracy", "step")
        table = last[[*BY, "seed"]].assign(target=name, accuracy=accuracy)
        table["steps"] = last["run"].map(steps)
        fewest = table["steps"].where(table["workers"] == table["workers"].min())
        base = fewest.groupby([table["method"], table["seed"]]).transform("max")
        table["speedup"] = (base / table["steps"]).where(np.isfinite(base))
        tables.append(table)
    whole = pd.concat(tables, ignore_index=True)
    return whole.sort_values(["target", *BY, "seed"], kind="stable", ignore_index=True)


def speedup_means(table: pd.DataFrame) -> pd.DataFrame:
    """Geometric means over seeds of ``steps_to_targets``, with 95 % intervals.

    Columns: target, accuracy, method, workers; ``steps`` and ``speedup``, each with ``_low`` and
    ``_high``; seeds; ``reached``, how many of them reach the target. NaN unless all do.
    """
    records = []
    by = ["target", "accuracy", *BY]
    for keys, rows in table.groupby(by, sort=False):
        record = dict(zip(by, keys, strict=True))
        for name in ("steps", "speedup"):
            values = rows[name].to_numpy(float)
            usable = np.isfinite(values).all() and (values > 0).all()
            found = estimate(np.log(values) if usable else np.full(len(values), np.nan))
            ends = found.mean, found.mean - found.half_width, found.mean + found.half_width
            record |= dict(zip((name, f"{name}_low", f"{name}_high"), np.exp(ends), strict=True))
        reached = int(np.isfinite(rows["steps"]).sum())
        records.append({**record, "seeds": len(rows), "reached": reached})
    return pd.DataFrame(records)


def note(numbers: pd.DataFrame, metrics: pd.DataFrame, **targets: float) -> list[str]:
    """How to read the drawing, the learning rate if all n share it, and targets not reached."""
    early, late = targets.values()
    lost = int((numbers["seeds"] - numbers["reached"]).sum())
    rates = metrics["lr"].unique() if "lr" in metrics else ()
    return [
        f"Steps until the consensus model first has a test accuracy of {early:g} % (early) or "
        f"{late:g} % (late), linear between evaluations; a step is one batch "
        "for each worker. Geometric means; speed-up: over the fewest workers, paired by seed.",
        *(
            f"The learning rate is {rate:g} for every n, so that more workers only average noise."
            for rate in rates
            if len(rates) == 1
        ),
        f"{lost} of {numbers['seeds'].sum()} times a run never reached a target: that number of "
        "workers is left out."
        if lost
        else "",
        captions.intervals(metrics, geometric=False),
    ]


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Steps of all, and the speed-up of each method next to a linear one (grey)."""
    counts = sorted(numbers["workers"].unique())
    methods = [name for name in METHOD_STYLES if name in set(numbers["method"])]
    figure, (axes,) = plots.panels(2.8, 1, 1 + len(methods))
    for axis in axes:
        plots.value_ticks(axis, counts, base=2)
        axis.set_xlabel("workers $n$")
    plots.log_axis(axes[0].yaxis)
    axes[0].set_ylabel("steps")
    for axis, method in zip(axes[1:], methods, strict=True):
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.plot(counts, np.array(counts) / counts[0], color="0.6", lw=1, label="linear")
        own = numbers[numbers["method"] == method]
        _draw(axes[0], own, "steps")
        _draw(axis, own, "speedup")
        axis.set_ylabel("speed-up")
    plots.share_limits(*axes[1:])
    names = [f"speed-up, {METHOD_STYLES[method].label}" for method in methods]
    plots.titles(axes, "steps to a target", *names)
    plots.legend(figure, axes[0], axes[1])
    return figure


def _draw(axis: plots.Axes, rows: pd.DataFrame, value: str) -> None:
    for (target, method), own in rows.groupby(["target", "method"], sort=False):
        own = own[own[value].notna()].sort_values("workers")
        style = METHOD_STYLES[method]
        line = style.line if target == "early" else ":"
        look = replace(style, label=f"{style.label}, {target} target", line=line)
        names = {value: "mean", f"{value}_low": "low", f"{value}_high": "high"}
        error_bars(axis, own.rename(columns=names), "workers", look, fillstyle=FILLS[target])
