"""Test accuracy of the mean model against the bytes that a worker sends, and against modelled
seconds on each network of the config's key `network`. The table has what it costs to reach a
target.

*The question:* which method reaches an accuracy with the fewest bytes, and in the least time on a
slow or on a fast network, with workers that are slow now and then?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ngo.analysis.combinations import TUNED, case_names
from ngo.analysis.curves import along, scores
from ngo.analysis.network_time import NetworkModel, network_seconds, read_network
from ngo.common.registry import UserError
from ngo.figures import captions, plots
from ngo.figures.case_styles import case_styles
from ngo.figures.combinations import best_values
from ngo.figures.curve_panels import lines
from ngo.figures.declaration import Tables, figure
from ngo.figures.tables import dashed
from verdicts.row import ABSENT
from verdicts.rows.best_fields import at_best
from verdicts.rows.evaluations import final, time_to

SITUATION = ["dataset", "partition"]

BYTES = "sent_per_worker"
PRICES, COSTS = "price", "price_to_target"

NOTE = (
    "Each case at its own best p, γ and learning rate by held-out accuracy. Seconds are modelled "
    "from the traffic on record; evaluations take none."
)
Networks = Mapping[str, Mapping[str, float]]


@figure(
    "price",
    section="Any method with any coupling",
    title="The price of a point of accuracy, in bytes and in modelled seconds",
    tables=("price_to_target",),
    values={"target_accuracy": (0, 1)},
)
def numbers(metrics: pd.DataFrame, network: Networks, target_accuracy: float) -> Tables:
    """The evaluations of each case with their costs, and the costs of reaching the target.

    ``network`` are networks by name (``network_time.NetworkModel``); ``target_accuracy`` is the
    share of test samples. A UserError if the config names no network.
    """
    if not network:
        raise UserError("network: the config names none; it needs one or more.")
    models = {name: read_network(values) for name, values in network.items()}
    found = priced(metrics, models)
    return {PRICES: found, COSTS: costs_to(found, 100 * target_accuracy, [BYTES, *models])}


def priced(metrics: pd.DataFrame, networks: Mapping[str, NetworkModel]) -> pd.DataFrame:
    """The evaluations of each case's runs at its best p, γ and learning rate, with their costs.

    Columns: ``case`` (``case_names``); ``sent_per_worker``, bytes so far; a column of modelled
    seconds so far for each network, under its name.
    """
    runs = metrics.drop_duplicates("run").set_index("run")
    named = metrics.assign(case=metrics["run"].map(case_names(runs)))
    chosen = at_best(named, TUNED, [*SITUATION, "case"]).reset_index(drop=True)
    seconds = {name: network_seconds(chosen, network) for name, network in networks.items()}
    return chosen.assign(sent_per_worker=chosen["bytes_sent"] / chosen["workers"], **seconds)


def price_curves(found: pd.DataFrame, cost: str) -> pd.DataFrame:
    """Accuracy (percent) along a column of costs: ``curves.along`` for each case."""
    return along(scores(found), [*SITUATION, "case"], cost, ["accuracy"])


def costs_to(found: pd.DataFrame, target: float, costs: Sequence[str]) -> pd.DataFrame:
    """What it costs each case to reach the accuracy ``target`` (percent): medians over seeds.

    Columns: ``SITUATION``, ``case``, the best ``TUNED``, one for each of ``costs``, and how many
    ``seeds`` of how many ``runs`` reach it. inf where half of them or more do not.
    """
    last = final(found)
    for cost in costs:
        last[cost] = last["run"].map(time_to(found, target / 100, "consensus_accuracy", cost))
    groups = last.groupby([*SITUATION, "case"], sort=False)
    return groups.agg(
        **{name: (name, "first") for name in TUNED},
        **{cost: (cost, "median") for cost in costs},
        seeds=(costs[0], lambda values: int(np.isfinite(values).sum())),
        runs=("run", "size"),
    ).reset_index()


def note(numbers: Tables, metrics: pd.DataFrame, network: Networks, **_: object) -> list[str]:
    """What the costs are."""
    about = captions.intervals(metrics, geometric=False), captions.diverged(numbers[PRICES])
    return [NOTE, _in_words(network), *about]


def caption(numbers: Tables, network: Networks, target_accuracy: float, **_: object) -> str:
    """What the table shows."""
    return (
        f"What it costs until the mean model's test accuracy is {target_accuracy:.0%}: medians "
        f"over seeds, linear between evaluations; {ABSENT}: half of the runs or more do not reach "
        f"it. {NOTE} {_in_words(network)}"
    )


def _networks(costs: pd.DataFrame) -> list[str]:
    """The names of the networks, whose columns stand between those of the bytes and the seeds."""
    names = list(costs)
    return names[names.index(BYTES) + 1 : names.index("seeds")]


def draw(numbers: Tables) -> plots.Figure:
    """Accuracy against bytes sent by a worker, and against seconds on each network."""
    found, networks = numbers[PRICES], _networks(numbers[COSTS])
    looks = case_styles(found)
    panels = [
        (situation, rows, cost)
        for situation, rows in found.groupby(SITUATION, sort=False)
        for cost in (BYTES, *networks)
    ]
    height = -(-len(panels) // 2)
    figure, grid = plots.panels(2.3 * height + 2, height, 2, sharey=True)
    axes, names = list(grid.flat), []
    for axis, (situation, rows, cost) in zip(axes, panels, strict=False):
        curves = price_curves(rows, cost)
        if cost == BYTES:
            curves[cost] /= 1e6
        cases = [(looks[case], part) for case, part in curves.groupby("case")]
        lines(axis, cases, cost, "accuracy")
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


def show(numbers: Tables) -> pd.DataFrame:
    """The costs of reaching the target as they are printed."""
    table = numbers[COSTS]
    return pd.DataFrame(
        {
            "Data": table["dataset"],
            "Partition": table["partition"],
            "Case": table["case"],
            **best_values(table),
            "MB by a worker": _costs(table[BYTES] / 1e6),
            **{f"{name.replace('_', ' ')}, s": _costs(table[name]) for name in _networks(table)},
            "Reached": [f"{k} of {n}" for k, n in zip(table["seeds"], table["runs"], strict=True)],
        }
    )


def _costs(values: pd.Series) -> list[str]:
    return dashed(values.replace(np.inf, np.nan), "{:,.3g}".format)


def _in_words(network: Networks) -> str:
    sentences = []
    for name, values in network.items():
        model = read_network(values)
        slow = f"; with probability {model.slow:g}, {model.slowdown:g} times as long"
        sentences.append(
            f"{name.replace('_', ' ').capitalize()}: {model.latency:g} s of latency, "
            f"{model.bandwidth / 1e6:g} MB/s, {model.step:g} s for a gradient step"
            f"{slow if model.slow else ''}."
        )
    return " ".join(sentences)
