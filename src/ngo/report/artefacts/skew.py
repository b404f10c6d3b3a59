"""Accuracy against the heterogeneity of the workers' data."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ngo.analysis.combinations import LINEAR, combination_table
from ngo.analysis.heterogeneity import heterogeneity
from ngo.figures import captions, plots
from ngo.figures.combinations import NOTE, print_combinations
from ngo.figures.curve_panels import Cases, lines
from ngo.figures.output import Output
from ngo.figures.style import Style, house_style, kth_style
from ngo.figures.tables import save_table

MEASURED = ("hellinger", "label_entropy")


@house_style()
def make(metrics: str | Path, classes: str | Path, tier: str, out: str | Path) -> Output:
    """Draw and save the figure and the table from the metrics of runs.

    ``classes`` has the samples by worker and class of a partition for each β.
    """
    runs = pd.read_parquet(metrics)
    table = skew_table(runs, pd.read_parquet(classes)).assign(tier=tier)
    figure = draw(table)
    made_by = captions.made_by(tier, runs)
    about = (
        "Heterogeneity: the mean Hellinger distance of the workers' label distributions to that of "
        "all samples, on the partition of one seed for each β."
    )
    plots.caption(figure, NOTE, about, captions.intervals(runs, geometric=False), made_by)
    picture = plots.save_figure(figure, f"{out}/figures/skew", table)
    shown = table.assign(
        **{name: table[name].map("{:.3f}".format) for name in MEASURED},
        beta=table["beta"].map("{:g}".format),
    )
    printed = print_combinations(
        shown, **{"β": "beta", "Hellinger": "hellinger", "Entropy": "label_entropy"}
    )
    save_table(
        table,
        printed,
        f"{out}/tables/skew",
        f"Test accuracy in percent of the mean model, {captions.mean_over_seeds(runs)}, by the "
        f"concentration β of the Dirichlet distribution of classes. {NOTE} {about} Entropy: of the "
        f"workers' label distributions, in nats. Gain: over linear gossip at the same β. {made_by}",
    )
    return Output(picture, (printed,))


def skew_table(runs: pd.DataFrame, classes: pd.DataFrame) -> pd.DataFrame:
    """``combinations.combination_table`` by β, with the measures of heterogeneity of each β."""
    measured = heterogeneity(classes)[["dataset", "partition", "beta", *MEASURED]]
    table = combination_table(runs, ["beta"])
    return table.merge(measured, on=["dataset", "partition", "beta"], how="left")


def draw(table: pd.DataFrame) -> Figure:
    """Accuracy, and the gain over linear gossip, against heterogeneity, for each data set."""
    table = table.assign(name=table["algorithm"] + (" " + table["mixer"]).fillna(""))
    sets = list(table.groupby(["dataset", "partition"], sort=False))
    names = sorted(set(table["name"]), key=lambda name: (LINEAR not in name, name))
    styles = {name: kth_style(k, name) for k, name in enumerate(names)}
    figure = plots.new_figure(2.2 * len(sets) + 0.8)
    axes = figure.subplots(len(sets), 2, squeeze=False)
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
    rows = rows.assign(
        value=value,
        mean=rows[value],
        low=rows[value] - rows[f"{value}_ci95"],
        high=rows[value] + rows[f"{value}_ci95"],
    )
    return [
        (style, rows[rows["name"] == name].sort_values("hellinger"))
        for name, style in styles.items()
        if name in set(rows["name"])
    ]
