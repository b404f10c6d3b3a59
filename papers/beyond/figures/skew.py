"""Test accuracy against the heterogeneity of the workers' data. The shares of each class are drawn
from Dirichlet distributions with concentrations β from 0.05 (nearly one worker for each class) to
10 (nearly the same for all).

*The question:* does nonlinear gossip, or a correction for heterogeneity (D²), help more the less
alike the data are?
"""

from __future__ import annotations

import pandas as pd

from ngo import plots
from ngo.analysis.combinations import LINEAR, combination_table
from ngo.data.heterogeneity import hellinger_to_global, label_entropy
from ngo.plots import captions
from ngo.plots.combinations import NOTE, print_combinations
from ngo.plots.curve_panels import Cases, lines
from ngo.plots.declaration import figure
from ngo.plots.style import Style, kth_style

MEASURES = {"hellinger": hellinger_to_global, "label_entropy": label_entropy}

ABOUT = (
    "Heterogeneity: the mean Hellinger distance of the workers' label distributions to that of all "
    "samples, on the partition of one seed for each β."
)


@figure(
    "skew",
    section="Any method with any coupling",
    title="Accuracy against the heterogeneity of the workers' data",
    reads={"metrics": "skew", "classes": "classes_skew"},
    tables=("skew",),
)
def numbers(metrics: pd.DataFrame, classes: pd.DataFrame) -> pd.DataFrame:
    """``combination_table`` by β, with the ``heterogeneity`` of the partition at each β.

    ``classes`` has the samples by worker and class of a partition for each β.
    """
    by = ["dataset", "partition", "beta"]
    measured = heterogeneity(classes)[[*by, *MEASURES]]
    return combination_table(metrics, ["beta"]).merge(measured, on=by, how="left")


def heterogeneity(counts: pd.DataFrame) -> pd.DataFrame:
    """A row for each partition in ``results.class_counts``, with its fields and ``MEASURES``."""
    own = ["worker", "label", "samples"]
    fields = [name for name in counts if name not in own]
    rows = []
    for values, group in counts.groupby(fields, sort=False, dropna=False):
        table = group.pivot(index="worker", columns="label", values="samples").to_numpy()
        measured = {name: measure(table) for name, measure in MEASURES.items()}
        rows.append({**dict(zip(fields, values, strict=True)), **measured})
    return pd.DataFrame(rows)


def note(numbers: pd.DataFrame, metrics: pd.DataFrame, classes: pd.DataFrame) -> list[str]:
    """How the values were chosen, and what heterogeneity is."""
    return [NOTE, ABOUT, captions.intervals(metrics, geometric=False)]


def caption(numbers: pd.DataFrame, metrics: pd.DataFrame, classes: pd.DataFrame) -> str:
    """What the columns are."""
    return (
        f"Test accuracy in percent of the mean model, {captions.mean_over_seeds(metrics)}, by the "
        f"concentration β of the Dirichlet distribution of classes. {NOTE} {ABOUT} Entropy: of the "
        "workers' label distributions, in nats. Gain: over linear gossip at the same β."
    )


def show(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as it is printed."""
    shown = numbers.assign(
        **{name: numbers[name].map("{:.3f}".format) for name in MEASURES},
        beta=numbers["beta"].map("{:g}".format),
    )
    return print_combinations(
        shown, **{"β": "beta", "Hellinger": "hellinger", "Entropy": "label_entropy"}
    )


def draw(numbers: pd.DataFrame) -> plots.Figure:
    """Accuracy, and the gain over linear gossip, against heterogeneity, for each data set."""
    table = numbers.assign(name=numbers["algorithm"] + (" " + numbers["mixer"]).fillna(""))
    sets = list(table.groupby(["dataset", "partition"], sort=False))
    names = sorted(set(table["name"]), key=lambda name: (LINEAR not in name, name))
    styles = {name: kth_style(k, name) for k, name in enumerate(names)}
    figure, axes = plots.panels(2.2 * len(sets) + 0.8, len(sets), 2)
    for pair, (_, rows) in zip(axes, sets, strict=True):
        for axis, value in zip(pair, ("accuracy", "gain"), strict=True):
            own = rows if value == "accuracy" else rows[rows["gain"].notna()]
            lines(axis, _cases(own, value, styles), "hellinger", value)
            axis.set_xlabel("heterogeneity (Hellinger distance)")
        pair[1].axhline(0, color="0.6", lw=1)
    titles = [title for name, _ in sets for title in (", ".join(name), "gain over linear gossip")]
    plots.titles(axes.flat, *titles)
    plots.legend(figure, axes[0, 0])
    return figure


def _cases(rows: pd.DataFrame, value: str, styles: dict[str, Style]) -> Cases:
    """The rows of each method and mixer, as ``curves.points`` has them."""
    mean, half = rows[value], rows[f"{value}_ci95"]
    rows = rows.assign(value=value, mean=mean, low=mean - half, high=mean + half)
    parts = dict(list(rows.groupby("name")))
    return [(style, parts[name]) for name, style in styles.items() if name in parts]
