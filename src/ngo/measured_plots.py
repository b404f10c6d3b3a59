"""Figures of what is measured on partitions, on kept models and on the engine."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ngo.plots import COLOURS, PROTOCOL_STYLES, TEXT_WIDTH, legend
from ngo.results import check_apart
from ngo.statistics import estimate

PAIRS = 2  # rows of originals over reconstructions


def alignment_figure(table: pd.DataFrame) -> Figure:
    """Figure 2, from :func:`ngo.alignment.alignment_table`: directions and lengths against V.

    A row of panels for each data set, protocol and topology. Bands span all workers of all seeds,
    bars are intervals over seeds; the dotted line is the V at which training ended. Runs that
    diverged are counted, and not in the curves.
    """
    by = ["dataset", "protocol", "topology"]
    check_apart(table.drop_duplicates("run"), by)
    groups = list(table.groupby(by, dropna=False))
    figure, axes = plt.subplots(
        len(groups), 2, figsize=(TEXT_WIDTH, 2.4 * len(groups) + 0.3), squeeze=False
    )
    for row, ((dataset, protocol, topology), part) in zip(axes, groups, strict=True):
        finite, apart = part[~part["diverged"]], part[part["V"] > 0]
        trained = _geometric_mean(apart["V"] / apart["scale"] ** 2)
        for axis, value in zip(row, ("cosine", "relative_norm"), strict=True):
            axis.axvline(trained, color="0.5", linestyle=":", linewidth=1)
            _against_V(axis, finite, value, log=value == "relative_norm")
        where = ", ".join([dataset, PROTOCOL_STYLES[protocol].label, *filter(pd.notna, [topology])])
        row[0].set(title=f"direction: {where}", ylabel="cosine with the gradient at $\\bar{x}$")
        row[0].set_ylim(-1.05, 1.05)
        row[1].set(title=f"length: {where}", ylabel="length / length of that at $\\bar{x}$")
        if lost := part.loc[part["diverged"], "run"].nunique():
            text = f"× {lost} of {part['run'].nunique()} runs diverged"
            row[0].text(0.99, 0.98, text, transform=row[0].transAxes, ha="right", va="top")
    legend(figure, axes[0, 0])
    return figure


def _against_V(axis: Axes, part: pd.DataFrame, value: str, *, log: bool) -> None:
    """The workers' gradients and their mean's, over the seeds' (geometric) mean V of each scale.

    On a ``log`` axis, means and intervals are those of the logarithms.
    """
    forward, back = (np.log, np.exp) if log else (np.positive, np.positive)
    V = part.groupby("scale")["V"].agg(_geometric_mean)
    positive = V[V > 0]
    if log:
        axis.set_yscale("log")
    if len(positive):
        axis.set_xscale("symlog", linthresh=positive.min())
        low, high = np.log10([positive.min(), positive.max()])
        axis.set_xticks([0, *10.0 ** np.arange(np.ceil(low), np.floor(high) + 1)])
        axis.xaxis.set_minor_locator(NullLocator())
    workers = part[part["worker"] >= 0]
    spread = workers.groupby("scale")[value]
    axis.fill_between(V, spread.min(), spread.max(), color=COLOURS[0], alpha=0.15, linewidth=0)
    shown = []
    for rows, label, colour, style in (
        (workers, "a worker's gradient", COLOURS[0], "s--"),
        (part[part["worker"] < 0], "the mean of the workers' gradients", COLOURS[1], "o-"),
    ):
        by_seed = rows.assign(shown=forward(rows[value])).groupby(["scale", "run"])["shown"].mean()
        found = [estimate(seeds.to_numpy()) for _, seeds in by_seed.groupby("scale")]
        mean = np.array([estimated.mean for estimated in found])
        half_width = np.nan_to_num([estimated.half_width for estimated in found])
        bars = [back(mean) - back(mean - half_width), back(mean + half_width) - back(mean)]
        axis.errorbar(
            V, back(mean), bars, fmt=style, color=colour, label=label, markersize=4, capsize=2
        )
        shown.append(back(mean))
    if log and len(positive):  # intervals of few seeds may leave the axes
        axis.set_ylim(min(spread.min().min(), *map(min, shown)) / 2, spread.max().max() * 2)
    axis.set(xlabel="index $V$")


def _geometric_mean(values: pd.Series) -> float:
    """The mean of positive values that span orders of magnitude; 0 if one is 0."""
    return float(np.exp(np.log(values).mean())) if values.all() else 0.0


def class_figure(counts: pd.DataFrame) -> Figure:
    """Figure S2: samples per class and worker, one heat map for each partition."""
    import seaborn as sns

    groups = list(counts.groupby(["dataset", "partition", "seed"], sort=False))
    width = max(0.6 * TEXT_WIDTH, min(TEXT_WIDTH, 0.5 * TEXT_WIDTH * len(groups)))
    figure, axes = plt.subplots(1, len(groups), figsize=(width, 3.6), squeeze=False)
    for axis, ((dataset, partition, seed), group) in zip(axes[0], groups, strict=True):
        grid = group.pivot(index="label", columns="worker", values="samples")
        large = grid.size > 200
        sns.heatmap(
            grid,
            ax=axis,
            cmap="Blues",
            annot=False if large else grid.where(grid > 0).map("{:.0f}".format).replace("nan", ""),
            fmt="",
            annot_kws={"fontsize": 5.5 if grid.to_numpy().max() < 1000 or len(groups) < 3 else 4},
            cbar_kws={"label": "samples", "location": "bottom", "pad": 0.02},
            linewidths=0 if large else 0.4,
        )
        covered = int((grid.sum(axis=1) > 0).sum())
        axis.set(
            title=f"{dataset}, {partition},\nseed {seed}: {covered} of {len(grid)} classes",
            xlabel="worker",
            ylabel="class",
        )
        axis.tick_params(axis="both", rotation=0)
    return figure


def samples_figure(table: pd.DataFrame) -> Figure:
    """Figure S5, from :func:`ngo.samples.samples_table`: a row of two panels for each run.

    Left the originals over their reconstructions by the consensus model, right what each worker
    makes of as many codes as there are rows, the same for all.
    """
    runs = [run for _, run in table.groupby("run", sort=False)]
    figure = plt.figure(figsize=(TEXT_WIDTH, 2.2 * len(runs) + 0.3))
    panels = figure.subfigures(len(runs), 1, squeeze=False)[:, 0]
    for panel, run in zip(panels, runs, strict=True):
        run = run[run["step"] == run["step"].max()]
        dataset, workers = run["dataset"].iloc[0], int(run["worker"].max()) + 1
        originals = _images(run, "original", -1)
        reconstructions = _images(run, "reconstruction", -1)
        columns = -(-len(originals) // PAIRS)
        ratio = {"width_ratios": (columns, workers)}
        left, right = panel.subplots(1, 2, gridspec_kw=ratio)
        rows = [
            images[start : start + columns]
            for start in range(0, len(originals), columns)
            for images in (originals, reconstructions)
        ]
        _mosaic(left, rows)
        size = originals.shape[1] + 1
        left.set_yticks(
            size * (np.arange(len(rows)) + 0.5), ["original", "reconstruction"] * (len(rows) // 2)
        )
        lost = ", diverged" if run["diverged"].any() else ""
        left.set(title=f"{dataset}: reconstructions{lost}")
        _generations(right, run, len(rows))
        right.set(title=f"{dataset}: generations on each worker")
    return figure


def generations_figure(table: pd.DataFrame) -> Figure:
    """Figure A1, from :func:`ngo.samples.samples_table`: generations after each kept step.

    A column is a worker, a row a code, the same for all. One row of panels for each run.
    """
    runs = [run for _, run in table.groupby("run", sort=False)]
    steps = sorted(table["step"].unique())
    figure, axes = plt.subplots(
        len(runs), len(steps), figsize=(TEXT_WIDTH, 3.0 * len(runs) + 0.3), squeeze=False
    )
    for row, run in zip(axes, runs, strict=True):
        for axis, step in zip(row, steps, strict=True):
            axis.set_axis_off()
            own = run[run["step"] == step]
            if len(own):
                axis.set_axis_on()
                _generations(axis, own, int(own["image"].max()) + 1)
                lost = ", diverged" if own["diverged"].any() else ""
                axis.set(title=f"after {step} iterations{lost}", ylabel="code")
    return figure


def pixel_rows(table: pd.DataFrame) -> pd.DataFrame:
    """:func:`ngo.samples.samples_table` with a row for each row of pixels: columns x0, x1, …"""
    wide = table.pivot(
        index=[name for name in table if name not in ("column", "value")],
        columns="column",
        values="value",
    )
    return wide.add_prefix("x").rename_axis(columns=None).reset_index()


def throughput_figure(table: pd.DataFrame) -> Figure:
    """Figure A2, from :func:`ngo.throughput.throughput_table`: samples/s and speed-up against n.

    Points are medians of the repeats, bars their range; the grey line is a linear speed-up.
    """
    counts = sorted(table["workers"].unique())
    base = counts[0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(TEXT_WIDTH, 2.6))
    for protocol, part in table.groupby("protocol", sort=False):
        style = PROTOCOL_STYLES[protocol]
        repeats = part.groupby("workers")["samples_per_second"]
        middle, low, high = repeats.median(), repeats.min(), repeats.max()
        for axis, unit in ((left, 1.0), (right, middle[base])):
            axis.errorbar(
                middle.index,
                middle / unit,
                np.array([middle - low, high - middle]) / unit,
                color=style.colour,
                linestyle=style.line,
                marker=style.marker,
                markersize=4,
                capsize=2,
                label=style.label,
            )
    right.plot(counts, np.array(counts) / base, color="0.6", linewidth=1, label="linear")
    over = "one worker" if base == 1 else f"{base} workers"
    left.set(title="throughput of training", ylabel="samples/s")
    left.set_ylim(bottom=0)
    left.yaxis.set_major_formatter("{x:,.0f}")
    right.set(title=f"speed-up over {over}", ylabel=f"speed-up over {over}")
    right.set_yscale("log", base=2)
    right.yaxis.set_major_formatter("{x:g}")
    for axis in (left, right):
        axis.set_xscale("log", base=2)
        axis.set_xticks(counts, [str(n) for n in counts])
        axis.set(xlabel="number of workers $n$")
        axis.xaxis.set_minor_locator(NullLocator())
    right.legend()
    return figure


def _images(samples: pd.DataFrame, kind: str, worker: int) -> np.ndarray:
    """The images of one kind and model, uint8 ``[images, height, width, channels]``."""
    axes = ["image", "row", "column", "channel"]
    own = samples[(samples["kind"] == kind) & (samples["worker"] == worker)].sort_values(axes)
    return own["value"].to_numpy(np.uint8).reshape(own[axes].max().to_numpy() + 1)


def _generations(axis: Axes, samples: pd.DataFrame, rows: int) -> None:
    """The first ``rows`` codes (rows) on each worker (columns)."""
    workers = int(samples["worker"].max()) + 1
    columns = np.stack([_images(samples, "generation", worker) for worker in range(workers)], 1)
    _mosaic(axis, list(columns[:rows]))
    size = columns.shape[3] + 1
    axis.set_xticks(size * (np.arange(workers) + 0.5), range(workers))
    axis.set(xlabel="worker")


def _mosaic(axis: Axes, rows: list[np.ndarray]) -> None:
    """Rows of images ``[images, height, width, channels]``, a white line between them."""
    height, width, channels = rows[0].shape[1:]
    most = max(map(len, rows))
    canvas = np.full(
        (len(rows) * (height + 1) - 1, most * (width + 1) - 1, channels), 255, np.uint8
    )
    for k, row in enumerate(rows):
        for j, image in enumerate(row):
            top, side = k * (height + 1), j * (width + 1)
            canvas[top : top + height, side : side + width] = image
    grey = channels == 1
    axis.imshow(canvas[..., 0] if grey else canvas, cmap="gray", vmin=0, vmax=255)
    axis.set(xticks=[], yticks=[])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
