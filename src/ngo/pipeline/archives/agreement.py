"""Whether the metrics in an archive are those of a retrained run.

On the kind of processor that made a run, its metrics must be the same, bit for bit. Elsewhere
rounding differs, and training amplifies it. The run is then trained twice here, with two roundings.
The spread between the two results says how far apart two roundings of this run may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngo.pipeline.archives.packed_runs import FinishedRun

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# What the bits of a run's metrics depend on, besides its values and its code.
KIND = ("torch", "device", "instructions", "kernels")

# The archive's value may be this many times the spread away from the nearer of the two retrained.
MULTIPLE = 4

# What is allowed where the spread is smaller: a share of the value, or for accuracies a number of
# test samples.
RELATIVE, SAMPLES = 1e-3, 2

# Differences below this are rounding in themselves, as of a standard deviation of equal values.
SMALL = 1e-6

# Columns that no rounding changes.
EXACT = ("step", "epoch", "samples")


def same_kind(archived: FinishedRun, again: FinishedRun) -> bool:
    """Whether two runs must have the same bits: processor, instructions, kernels and torch."""
    same = all(archived.about.get(key) == again.about.get(key) for key in KIND)
    return same and archived.record.get("processor") == again.record.get("processor")


def bit_difference(archived: FinishedRun, again: FinishedRun) -> str | None:
    """The first difference between two runs' metrics; None if they are equal, bit for bit."""
    if other := _other_rows(archived, again):
        return other
    for name, ours in again.columns.items():
        theirs = archived.columns[name]
        for row, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            if a.tobytes() != b.tobytes():
                return _named(name, archived, row, f"{a} in the archive, {b} retrained")
    return None


def difference_beyond_rounding(
    archived: FinishedRun, one: FinishedRun, two: FinishedRun
) -> str | None:
    """The first value that two roundings of the run do not explain; None if there is none.

    The archive's value must be within ``MULTIPLE`` times the spread of the two (``spread_of``), or
    within the floor, of the nearer of the two. Counts in which both agree, and whether the run
    diverged, must be the same.
    """
    import numpy as np

    if _other_rows(one, two):  # rounding decides when this run ends: its rows have no counterparts
        nearer = [each for each in (one, two) if not _other_rows(archived, each)]
        return None if nearer else _other_rows(archived, one)
    if other := _other_rows(archived, one):
        return other
    spread = spread_of(one, two)
    for name, a in one.columns.items():
        b, theirs = two.columns[name], archived.columns[name]
        if name in EXACT or (a.dtype.kind in "ib" and np.array_equal(a, b)):
            allowed = np.zeros(len(a))
        else:
            allowed = tolerance(name, a, b, spread, one.about["test_samples"])
        far = distances(theirs, a, b) > allowed
        if far.any():
            row = int(np.argmax(far))
            here = f"{a[row]} and {b[row]} with two roundings here"
            return _named(name, archived, row, f"{theirs[row]} in the archive, {here}")
    return None


def unequal_row(archived: pd.Series, again: pd.Series) -> int | None:
    """The first row in which two columns of tables differ; NaN equals NaN."""
    unequal = (archived != again) & ~(archived.isna() & again.isna())
    return int(unequal.idxmax()) if unequal.any() else None


def spread_of(one: FinishedRun, two: FinishedRun) -> float:
    """How far apart two roundings of a run are.

    The largest difference over all evaluations and columns: of accuracies as it is, of other
    columns relative to the larger of the two values.
    """
    return max(
        largest_difference(a, two.columns[name], SMALL, relative="accuracy" not in name)
        for name, a in one.columns.items()
        if a.dtype.kind == "f" and name not in EXACT
    )


def largest_difference(a: np.ndarray, b: np.ndarray, small: float, *, relative: bool) -> float:
    """The largest finite difference of values above ``small``, maybe relative to the larger."""
    import numpy as np

    size = np.fmax(np.abs(a), np.abs(b))
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = (np.abs(a - b) / (size if relative else 1.0))[size > small]
    return float(np.max(apart[np.isfinite(apart)], initial=0.0))


def tolerance(
    name: str, a: np.ndarray, b: np.ndarray, spread: float, test_samples: int
) -> np.ndarray:
    """How far from two retrained columns the archive's may be, at each evaluation."""
    import numpy as np

    if "accuracy" in name:
        return np.full(len(a), max(MULTIPLE * spread, SAMPLES / test_samples) + SMALL)
    size = np.fmax(np.abs(a.astype(float)), np.abs(b.astype(float)))
    return np.where(np.isfinite(size), max(MULTIPLE * spread, RELATIVE) * size + SMALL, 0.0)


def distances(theirs: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distance to the nearer of ``a`` and ``b``; values that are not finite agree if equal."""
    import numpy as np

    nearest = np.full(len(a), np.inf)
    for ours in (a, b):
        x, y = theirs.astype(float), ours.astype(float)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        with np.errstate(invalid="ignore"):
            apart = np.where(same, 0.0, np.abs(x - y))
        nearest = np.fmin(nearest, np.where(np.isnan(apart), np.inf, apart))
    return nearest


def _other_rows(archived: FinishedRun, again: FinishedRun) -> str | None:
    """How the shape of two runs' metrics differs, or what they say of the run."""
    if archived.columns.keys() != again.columns.keys():
        names = sorted(archived.columns.keys() ^ again.columns.keys())
        return f"only one of the two has the column {names[0]}"
    theirs, ours = len(archived.columns["step"]), len(again.columns["step"])
    if theirs != ours:
        return f"{theirs} evaluations in the archive, {ours} retrained"
    facts = again.facts
    for name, value in archived.facts.items():  # runs of older code have fewer fields
        if facts.get(name) != value:
            return f"{name} is {value!r} in the archive, {facts.get(name)!r} retrained"
    return None


def _named(column: str, run: FinishedRun, row: int, told: str) -> str:
    return f"{column} at step {run.columns['step'][row]}: {told}"
