"""Mosaics of images: originals, reconstructions, and generations on each worker."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ngo.analysis.consensus import in_columns


def images(samples: pd.DataFrame, kind: str, worker: int) -> np.ndarray:
    """The images of a kind and a model, uint8 ``[images, height, width, channels]``.

    ``samples`` are ``pixel_rows`` of images of one shape.
    """
    axes = ["image", "channel", "row"]
    rows = samples[(samples["kind"] == kind) & (samples["worker"] == worker)].sort_values(axes)
    pixels = rows.filter(regex=r"^x\d+$").dropna(axis=1).to_numpy(np.uint8)
    return pixels.reshape(*(rows[axes].max() + 1), -1).transpose(0, 2, 3, 1)


def draw_generations(axis: Axes, samples: pd.DataFrame, rows: int) -> None:
    """Draw the images generated from the first ``rows`` codes (rows) by each worker (columns)."""
    workers = int(samples["worker"].max()) + 1
    columns = np.stack([images(samples, "generation", worker) for worker in range(workers)], 1)
    draw_mosaic(axis, list(columns[:rows]))
    size = columns.shape[3] + 1
    axis.set_xticks(size * (np.arange(workers) + 0.5), range(workers))
    axis.set(xlabel="worker")


def draw_mosaic(axis: Axes, rows: list[np.ndarray]) -> None:
    """Draw rows of images ``[images, height, width, channels]``, separated by white lines."""
    most = max(map(len, rows))
    lines = [((0, most - len(row)), (0, 1), (0, 1), (0, 0)) for row in rows]
    white = [np.pad(row, at, constant_values=255) for row, at in zip(rows, lines, strict=True)]
    canvas = np.concatenate([np.concatenate([*row], axis=1) for row in white])[:-1, :-1]
    grey = canvas.shape[2] == 1
    axis.imshow(canvas[..., 0] if grey else canvas, cmap="gray", vmin=0, vmax=255)
    axis.set(xticks=[], yticks=[])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def pixel_rows(table: pd.DataFrame) -> pd.DataFrame:
    """``samples.samples_table`` with one table row per row of pixels: columns x0, x1, …

    Runs stay in their order.
    """
    rows = in_columns(table, "column", "value")
    place = {run: k for k, run in enumerate(table["run"].unique())}
    return rows.sort_values("run", key=lambda runs: runs.map(place), kind="stable")
