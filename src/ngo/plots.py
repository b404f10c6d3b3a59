"""The figures, in one style: colour-blind safe, legible in black and white, the same each time.

A figure is saved as PNG, PDF and the CSV of what it shows.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from ngo.files import whole_file
from ngo.results import consensus_rounds

# Okabe and Ito's colours, told apart by people with any common colour blindness; the line styles
# carry the same distinction without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", ":", "-.")

TEXT_WIDTH = 6.75  # inches: the width of the paper's text block


def house_style() -> None:
    """The style of every figure; a notebook calls it first."""
    plt.rcParams.update(
        {
            "axes.prop_cycle": plt.cycler(color=COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "font.size": 8,
            "legend.frameon": False,
            "pdf.fonttype": 42,
            "savefig.dpi": 200,
        }
    )


def save_figure(figure: Figure, stem: str | Path, shown: pd.DataFrame) -> None:
    """Write ``stem``.png, .pdf and .csv; ``shown`` is the data in the figure."""
    undated = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
    for kind, metadata in undated.items():
        with whole_file(f"{stem}.{kind}") as temporary:
            figure.savefig(temporary, metadata=metadata)
    with whole_file(f"{stem}.csv") as temporary:
        shown.to_csv(temporary, index=False, lineterminator="\n")
    plt.close(figure)


def caption(figure: Figure, text: str) -> None:
    """A small line under the figure: what made it."""
    figure.supxlabel(text, fontsize="x-small", color="0.35", x=0.01, ha="left")


def consensus_figure(trajectories: pd.DataFrame, share: float) -> Figure:
    """Figure 3: each worker's state for each p, and V for all; dots mark V ≤ ``share`` of V(0)."""
    values = sorted(trajectories["p"].unique())
    figure, axes = plt.subplots(1, len(values) + 1, figsize=(TEXT_WIDTH, 2.2))
    marks = consensus_rounds(trajectories, share).set_index("p")["first_round"]
    for k, (axis, p) in enumerate(zip(axes, values, strict=False)):
        part = trajectories[trajectories["p"] == p]
        for _, worker in part.groupby("worker"):
            axis.plot(worker["round"], worker["x"], color=COLOURS[k], linewidth=0.8)
        axis.set(
            title=f"{_kind(p)}, $p={p:g}$", xlabel="round", ylabel="state $x_i$" if k == 0 else ""
        )
        axis.sharey(axes[0])
        V = part.drop_duplicates("round").set_index("round")["V"]
        axes[-1].plot(V.index, V, LINES[k], color=COLOURS[k], linewidth=1.2, label=f"$p={p:g}$")
        if pd.notna(marks[p]):
            axes[-1].plot(marks[p], V[marks[p]], "o", color=COLOURS[k], markersize=4)
    axes[-1].set(title="synchronization", xlabel="round", ylabel="index $V$", yscale="log")
    axes[-1].legend()
    return figure


def class_figure(counts: pd.DataFrame) -> Figure:
    """Figure S2: samples per class and worker, one heat map for each partition."""
    import seaborn as sns

    groups = list(counts.groupby(["dataset", "partition", "seed"], sort=False))
    figure, axes = plt.subplots(
        1,
        len(groups),
        figsize=(0.25 * TEXT_WIDTH + 0.5 * TEXT_WIDTH * len(groups), 3.4),
        squeeze=False,
    )
    for axis, ((dataset, partition, seed), group) in zip(axes[0], groups, strict=True):
        grid = group.pivot(index="label", columns="worker", values="samples")
        large = grid.size > 200
        sns.heatmap(
            grid,
            ax=axis,
            cmap="Blues",
            annot=False if large else grid.where(grid > 0).map("{:.0f}".format).replace("nan", ""),
            fmt="",
            annot_kws={"fontsize": 5.5},
            cbar_kws={"label": "samples"},
            linewidths=0 if large else 0.4,
        )
        covered = int((grid.sum(axis=1) > 0).sum())
        axis.set(
            title=f"{dataset}, {partition}, seed {seed}: {covered} of {len(grid)} classes",
            xlabel="worker",
            ylabel="class",
        )
        axis.tick_params(axis="y", rotation=0)
    return figure


def _kind(p: float) -> str:
    return "linear" if p == 1 else "sublinear" if p < 1 else "superlinear"
