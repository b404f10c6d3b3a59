"""The price of a point of accuracy: in bytes, and in seconds on modelled networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.network_time import NetworkModel, read_network
from ngo.analysis.prices import SITUATION, costs_to, price_curves, priced
from ngo.common.registry import UserError
from ngo.figures import captions, plots
from ngo.figures.case_styles import case_styles
from ngo.figures.curve_panels import lines
from ngo.figures.output import Output
from ngo.figures.style import house_style
from ngo.figures.tables import save_table
from verdicts.row import ABSENT

BYTES = "sent_per_worker"

NOTE = (
    "Each case at its own best p, γ and learning rate by held-out accuracy. Seconds are modelled "
    "from the traffic on record; evaluations take none."
)


@house_style()
def make(
    metrics: str | Path,
    network: Mapping[str, Mapping[str, float]],
    target_accuracy: float,
    tier: str,
    out: str | Path,
) -> Output:
    """Draw and save the figure and the table from the metrics of runs.

    ``network`` are networks by name (``network_time.NetworkModel``); ``target_accuracy`` is the
    share of test samples whose costs the table has.
    """
    if not network:
        raise UserError("network: the config names none; it needs one or more.")
    runs = pd.read_parquet(metrics)
    models = {name: read_network(values) for name, values in network.items()}
    found = priced(runs, models)
    made_by = captions.made_by(tier, runs)
    about = " ".join(_in_words(name, model) for name, model in models.items())
    figure = draw(found, list(models))
    plots.caption(
        figure,
        NOTE,
        about,
        captions.intervals(runs, geometric=False),
        captions.diverged(found),
        made_by,
    )
    picture = plots.save_figure(figure, f"{out}/figures/price", found.assign(tier=tier))
    table = costs_to(found, 100 * target_accuracy, [BYTES, *models]).assign(tier=tier)
    printed = print_costs(table, list(models))
    save_table(
        table,
        printed,
        f"{out}/tables/price",
        f"What it costs until the mean model's test accuracy is {target_accuracy:.0%}: medians "
        f"over seeds, linear between evaluations; {ABSENT}: half of the runs or more do not reach "
        f"it. {NOTE} {about} {made_by}",
    )
    return Output(picture, (printed,))


def draw(found: pd.DataFrame, networks: list[str]) -> Figure:
    """Accuracy against bytes sent by a worker, and against seconds on each network."""
    looks = case_styles(found)
    panels = [
        (situation, rows, cost)
        for situation, rows in found.groupby(SITUATION, sort=False)
        for cost in (BYTES, *networks)
    ]
    height = -(-len(panels) // 2)
    figure = plots.new_figure(2.3 * height + 2)
    axes = list(figure.subplots(height, 2, squeeze=False, sharey=True).flat)
    names = []
    for axis, (situation, rows, cost) in zip(axes, panels, strict=False):
        curves = price_curves(rows, cost)
        if cost == BYTES:
            curves[cost] /= 1e6
        lines(
            axis, [(looks[case], part) for case, part in curves.groupby("case")], cost, "accuracy"
        )
        plots.log_axis(axis.xaxis)  # prices are compared by their ratios
        axis.set_xlabel("MB sent by a worker" if cost == BYTES else "seconds")
        called = "bytes" if cost == BYTES else cost.replace("_", " ")
        names.append(f"{', '.join(situation)}: {called}")
    for axis in axes[1::2]:
        axis.set_ylabel("")
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    plots.titles(axes, *names)
    plots.legend(figure, axes[0])
    return figure


def print_costs(table: pd.DataFrame, networks: list[str]) -> pd.DataFrame:
    """The printed form of ``prices.costs_to``."""
    return pd.DataFrame(
        {
            "Data": table["dataset"],
            "Partition": table["partition"],
            "Case": table["case"],
            **{
                title: [ABSENT if pd.isna(value) else f"{value:g}" for value in table[column]]
                for title, column in (("Best p", "p"), ("Best γ", "gamma"), ("Best η", "lr"))
            },
            "MB by a worker": [_number(value / 1e6) for value in table[BYTES]],
            **{
                f"{name.replace('_', ' ')}, s": [_number(value) for value in table[name]]
                for name in networks
            },
            "Reached": [f"{k} of {n}" for k, n in zip(table["seeds"], table["runs"], strict=True)],
        }
    )


def _number(value: float) -> str:
    return f"{value:,.3g}" if np.isfinite(value) else ABSENT


def _in_words(name: str, model: NetworkModel) -> str:
    slow = f"; with probability {model.slow:g}, {model.slowdown:g} times as long"
    called = name.replace("_", " ").capitalize()
    return (
        f"{called}: {model.latency:g} s of latency, {model.bandwidth / 1e6:g} MB/s, "
        f"{model.step:g} s for a gradient step{slow if model.slow else ''}."
    )
