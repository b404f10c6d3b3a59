"""The figures of what workers learn: curves over training, its end, and what decides it.

Each function takes a tidy table of metrics and returns the figure with the numbers in it: means and
95 % intervals over seeds (see :func:`ngo.curves.points`).
"""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from ngo import curves, graphs, plots
from ngo.plots import COLOURS, PROTOCOL_STYLES, TEXT_WIDTH, Style
from ngo.results import final

Drawn = tuple[Figure, pd.DataFrame]

SHOWN_U = 0.4  # the edge probability of Figure 5's curves


def threshold_figure(metrics: pd.DataFrame) -> Drawn:
    """Figure 1: least squares on a ring, gossip after each SGD step until V ≤ V_th."""
    values = ["loss", "workers_loss", "V", "messages"]
    by = ["protocol", "v_threshold"]
    table = curves.along(curves.scores(metrics), by, "step", values)
    cases = [
        (plots.style(k, rf"$V_\mathrm{{th}} = {threshold:g}$" if threshold > 0 else name), rows)
        for k, ((name, threshold), rows) in enumerate(table.groupby(by, dropna=False))
    ]
    figure, axes = plt.subplot_mosaic(
        [["graph", "loss", "workers_loss"], ["graph", "V", "messages"]],
        width_ratios=[0.6, 1, 1],
        figsize=(TEXT_WIDTH, 3.9),
    )
    _graph(axes["graph"], metrics["topology"].iloc[0], int(metrics["workers"].iloc[0]))
    for value in values:
        curves.lines(axes[value], cases, "step", value)
        axes[value].set_xlabel("step")
    for style, rows in cases:
        axes["V"].axhline(rows["v_threshold"].iloc[0], color=style.colour, lw=0.5)
    plots.titles(
        axes.values(),
        f"{metrics['topology'].iloc[0]}, $n = {metrics['workers'].iloc[0]}$",
        "consensus model",
        "mean of the workers",
        "synchronization, thresholds as lines",
        "communication so far",
    )
    plots.legend(figure, axes["loss"])
    return figure, table


def nonlinearity_figure(metrics: pd.DataFrame) -> Drawn:
    """Figure 4: accuracy and V for each p, over training and at its end; gossip is p = 1."""
    scores = curves.scores(metrics)
    course = curves.along(scores, ["protocol", "p"], "epoch", ["accuracy", "V"])
    ends = curves.points(final(scores), ["protocol", "p"], ["accuracy", "V"])
    cases = _by_exponent(course)
    across, spread = ends[ends["p"].isna()], ends[ends["p"].notna()]
    figure, axes = plt.subplots(2, 2, figsize=(TEXT_WIDTH, 4.2), width_ratios=[1.5, 1])
    for row, value in zip(axes, ("accuracy", "V"), strict=True):
        curves.lines(row[0], cases if value != "V" else curves.decentralized(cases), "epoch", value)
        levels = curves.by_protocol(across) if value != "V" else []
        curves.dots(row[1], curves.by_protocol(spread), "p", value, levels)
        row[1].set_xticks(sorted(spread["p"].unique()))
    axes[1, 0].set_xlabel("epoch")
    axes[1, 1].set_xlabel("exponent $p$")
    plots.titles(
        axes.flat,
        "accuracy by $p$",
        "accuracy at the end",
        "synchronization by $p$",
        "synchronization at the end",
    )
    plots.legend(figure, axes[0, 0])
    return figure, curves.together(course, ends)


def random_graph_figure(metrics: pd.DataFrame, u: float = SHOWN_U) -> Drawn:
    """Figure 5: accuracy and V on random graphs over training, at the edge probability nearest to
    ``u``, and at its end for each.
    """
    scores = curves.scores(metrics)
    probabilities = sorted(scores["u"].dropna().unique())
    u = min(probabilities, key=lambda other: abs(other - u))
    chosen = scores[scores["u"].isna() | (scores["u"] == u)]
    course = curves.along(chosen, ["protocol", "u"], "epoch", ["accuracy", "V"])
    last = final(scores)
    last["messages_per_step"] = last["messages"] / last["step"]
    ends = curves.points(last, ["protocol", "u"], ["accuracy", "V", "messages_per_step"])
    spread = curves.decentralized(curves.by_protocol(ends))
    budget = last.groupby("u")["messages_per_step"].mean()
    figure, axes = plt.subplots(2, 2, figsize=(TEXT_WIDTH, 4.4), width_ratios=[1.3, 1])
    for row, value in zip(axes, ("accuracy", "V"), strict=True):
        cases = curves.by_protocol(course)
        curves.lines(row[0], cases if value != "V" else curves.decentralized(cases), "epoch", value)
        plots.value_ticks(row[1], probabilities, base=2)
        levels = curves.by_protocol(ends[ends["u"].isna()]) if value != "V" else []
        curves.dots(row[1], spread, "u", value, levels)
        row[1].set_xticklabels([f"{other:g}\n({budget[other]:.0f})" for other in probabilities])
    axes[1, 0].set_xlabel("epoch")
    axes[1, 1].set_xlabel("edge probability $u$\n(models sent in a step)")
    plots.titles(
        axes.flat,
        f"accuracy, $u = {u:g}$",
        "accuracy at the end",
        f"synchronization, $u = {u:g}$",
        "synchronization at the end",
    )
    plots.legend(figure, axes[0, 0])
    return figure, curves.together(course, ends)


def local_steps_figure(metrics: pd.DataFrame) -> Drawn:
    """Figure 6: consensus after every step, or every few: with linear and nonlinear coupling."""
    by = ["protocol", "p", "local_steps"]
    table = curves.along(curves.scores(metrics), by, "epoch", ["accuracy", "V"])
    couplings = sorted(table["p"].dropna().unique(), reverse=True)
    periods = sorted(table.loc[table["protocol"] == "local_sgd", "local_steps"].unique())
    first = COLOURS.index(PROTOCOL_STYLES["local_sgd"].colour)
    looks = {
        period: plots.style(first + k, f"local SGD, every {period} steps")
        for k, period in enumerate(periods)
    }
    figure, axes = plt.subplots(2, len(couplings), figsize=(TEXT_WIDTH, 4.2), squeeze=False)
    for k, p in enumerate(couplings):
        cases = []
        for style, own in curves.by_protocol(table[table["p"].isna() | (table["p"] == p)]):
            if own["protocol"].iloc[0] == "local_sgd":
                cases += [(looks[period], rows) for period, rows in own.groupby("local_steps")]
            else:
                often = style.named(f"{style.label}, every step")
                cases.append((often if own["p"].notna().any() else style, own))
        for row, value in zip(axes, ("accuracy", "V"), strict=True):
            shown = cases if value != "V" else curves.decentralized(cases)
            curves.lines(row[k], shown, "epoch", value)
        axes[1, k].set_xlabel("epoch")
    for row in axes:
        plots.share_limits(*row)
    names = ["linear coupling" if p == 1 else f"nonlinear coupling, $p = {p:g}$" for p in couplings]
    plots.titles(axes.flat, *names, *names)
    plots.legend(figure, *axes[0])
    return figure, table


def scaling_figure(metrics: pd.DataFrame) -> Drawn:
    """Figures 7 and S3: the best test accuracy reached by n workers, and NGO − gossip by seed."""
    scores = curves.scores(metrics)
    last = final(scores)
    last["best"] = last["run"].map(scores.groupby("run")["accuracy"].max())
    ends = curves.points(last, ["protocol", "workers"], ["best"])
    last.loc[last["diverged"], "best"] = np.nan
    pairs = last.pivot(index=["workers", "seed"], columns="protocol", values="best")
    pairs = pairs.assign(difference=pairs["ngo"] - pairs["gossip"]).reset_index()
    pairs = pairs.assign(diverged=pairs["difference"].isna(), protocol="ngo")
    gain = curves.points(pairs, ["protocol", "workers"], ["difference"])
    sizes = sorted(ends["workers"].unique())
    figure, axes = plt.subplots(1, 2, figsize=(TEXT_WIDTH, 2.7))
    for axis in axes:
        plots.value_ticks(axis, sizes, base=2)
        axis.set_xlabel("workers $n$")
    curves.dots(axes[0], curves.by_protocol(ends), "workers", "best")
    curves.dots(axes[1], curves.by_protocol(gain), "workers", "difference")
    axes[1].axhline(0, color="0.6", lw=0.6, zorder=0)
    plots.titles(axes.flat, "best accuracy", "difference, paired by seed")
    plots.legend(figure, axes[0])
    return figure, curves.together(ends, gain)


def toy_figure(metrics: pd.DataFrame, samples: pd.DataFrame) -> Drawn:
    """Figure S6: the fits of a noisy sine, by the consensus model and by each worker, of the first
    seed; and the errors and V over training.
    """
    values = ["loss", "workers_loss", "V"]
    table = curves.along(curves.scores(metrics), ["protocol"], "epoch", values)
    cases = curves.by_protocol(table)
    fits = samples[samples["seed"] == samples["seed"].min()]
    figure, axes = plt.subplots(2, 3, figsize=(TEXT_WIDTH, 4.4))
    for axis, (style, rows) in zip(axes[0], cases, strict=True):
        _fits(axis, fits[fits["protocol"] == rows["protocol"].iloc[0]], style)
        axis.set(xlabel="$x$", ylabel="$y$")
    for axis, value in zip(axes[1], values, strict=True):
        curves.lines(axis, cases if value != "V" else curves.decentralized(cases), "epoch", value)
        axis.set_xlabel("epoch")
    names = [style.label for style, _ in cases]
    names += ["consensus model", "mean of the workers", "synchronization"]
    plots.titles(axes.flat, *names)
    axes[0, 0].legend(loc="lower right", fontsize="small")
    plots.legend(figure, axes[1, 0])
    return figure, curves.together(table, fits[["protocol", "seed", "kind", "worker", "x", "y"]])


def _by_exponent(table: pd.DataFrame) -> curves.Cases:
    """The rows of each protocol and p with its style; NGO's in shades."""
    cases: curves.Cases = []
    for style, rows in curves.by_protocol(table):
        exponents = sorted(rows["p"].dropna().unique(), reverse=True)
        looks = [style.named(f"{style.label}, $p = {p:g}$") for p in exponents] or [style]
        if style == PROTOCOL_STYLES["ngo"]:
            looks = _shades(exponents)
        parts = [rows[rows["p"] == p] for p in exponents] or [rows]
        cases += zip(looks, parts, strict=True)
    return cases


def _shades(values: Iterable[float]) -> list[Style]:
    """NGO's style for each p, darker the smaller it is."""
    base = np.array(to_rgb(PROTOCOL_STYLES["ngo"].colour))
    values = list(values)
    light = np.linspace(0.35, -0.65, len(values)) if len(values) > 1 else [0.0]
    return [
        Style(
            f"NGO, $p = {p:g}$",
            to_hex(base + (1 - base) * shade if shade > 0 else base * (1 + shade)),
            ("-", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))[k % 4],
            ("o", "^", "D", "v", "P", "X")[k % 6],
        )
        for k, (p, shade) in enumerate(zip(values, light, strict=True))
    ]


def _graph(axis: Axes, topology: str, n: int) -> None:
    import networkx as nx

    angles = 2 * np.pi * np.arange(n) / n
    places = {i: (np.sin(angle), np.cos(angle)) for i, angle in enumerate(angles)}
    graph = nx.Graph(graphs.TOPOLOGIES[topology].edges(n))
    nx.draw_networkx(
        graph, places, ax=axis, node_size=130, node_color="0.85", edgecolors="0.2", font_size=6
    )
    axis.set_aspect("equal")
    axis.margins(0.2)
    axis.axis("off")


def _fits(axis: Axes, rows: pd.DataFrame, style: Style) -> None:
    noisy, fitted = rows[rows["kind"] == "target"], rows[rows["kind"] == "prediction"]
    axis.plot(noisy["x"], noisy["y"], ".", color="0.7", markersize=2, label="test points")
    for _, worker in fitted[fitted["who"] == "worker"].groupby("worker"):
        axis.plot(worker["x"], worker["y"], color=style.colour, lw=0.6, alpha=0.6)
    consensus = fitted[fitted["who"] == "consensus"].sort_values("x")
    axis.plot(consensus["x"], np.sin(consensus["x"]), color="0.2", lw=0.7, label=r"$\sin x$")
    axis.plot(consensus["x"], consensus["y"], color=style.colour, ls=style.line, lw=1.4)
    if not np.isfinite(consensus["y"]).all():
        axis.text(0.5, 0.05, "diverged", transform=axis.transAxes, ha="center")
