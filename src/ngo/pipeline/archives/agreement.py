"""Whether the numbers in an archive are those of a run or a case that was made again.

On the kind of processor that made them, they must be equal. Elsewhere rounding differs, and
training amplifies it. They are then made twice here, with two roundings a and b. The spread between
a and b says how far apart two roundings may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# The archive's value may be this many times the spread away from the nearer of a and b.
MULTIPLE = 4

# What is allowed where the spread is smaller, of runs and of cases: a share of the value. Of
# accuracies it is a number of test samples.
RUNS, CASES, SAMPLES = 1e-3, 1e-6, 2

# Differences below this are rounding: in runs, and in cases as a share of a column's largest value.
# So are those below its square there: V of workers that agree is a square of rounding errors.
SMALL_IN_RUNS, SMALL = 1e-6, 1e-12

# Columns that no rounding changes.
EXACT = ("step", "epoch", "samples")

# How numbers were compared.
EQUAL = "bit for bit"
ROUNDINGS = "within two roundings"


@dataclass(frozen=True)
class Made:
    """What a run or a case gave, in the archive or here."""

    table: pd.DataFrame
    #: What the bits of its numbers depend on, besides its values and code; None if not known.
    where: tuple | None
    #: What else is said of a run.
    facts: Mapping[str, object] = field(default_factory=dict)
    #: The test samples of a run; None for a case.
    samples: int | None = None


def compared(archived: Made, again: Callable[[Mapping[str, str]], Made]) -> tuple[str, str | None]:
    """How ``archived`` was compared, and the first difference, if there is one.

    ``again`` makes it with more variables in its environment.
    """
    one = again({})
    fault = difference(archived, one)
    if fault is None or archived.where == one.where:
        return EQUAL, fault
    return ROUNDINGS, difference(archived, one, again(other_rounding(one)))


def other_rounding(made: Made) -> dict[str, str]:
    """Variables with which it is made with another rounding.

    With our kernels in place of torch's operations or the other way round, and with narrower
    vectors in the libraries.
    """
    wide, kernels = "AVX512" in (made.where or ()), (made.where or (None,))[-1]
    return {
        "NGO_MARCH": "none" if kernels else "native",
        "ATEN_CPU_CAPABILITY": "avx2" if wide else "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
    }


def difference(archived: Made, one: Made, two: Made | None = None) -> str | None:
    """The first value that differs from ``one``; with ``two``, that both roundings do not explain.

    The value must then be within ``MULTIPLE`` times the spread, or within the floor, of the nearer
    of the two. The spread is the largest difference of the two, over all columns of a run, or in
    the column of a case: of accuracies as it is, of others relative to the larger value.
    """
    import numpy as np

    if two is not None and _other_shape(one, two):  # rounding decides when this run ends
        ends = [_other_shape(archived, each) for each in (one, two)]
        return ends[0] if all(ends) else None
    if other := _other_shape(archived, one):
        return other
    second = (two or one).table
    allowed = {} if two is None else _allowed(one, two)
    for name, a in one.table.items():
        x, b = archived.table[name], second[name]
        near = (x == a) | (x == b) | (x.isna() & (a.isna() | b.isna()))
        if name in allowed and x.dtype.kind in "iuf":
            near |= np.fmin((x - a).abs(), (x - b).abs()) <= allowed[name]
        if not near.all():
            row = int(np.argmin(near))
            place = f"step {archived.table['step'][row]}" if "step" in second else f"row {row}"
            here = a[row] if two is None else f"{a[row]} and {b[row]} with two roundings"
            return f"{name} at {place}: {x[row]} in the archive, {here} here"
    return None


def _allowed(one: Made, two: Made) -> dict[str, np.ndarray]:
    """How far from the nearer of two roundings a value may be, in each row of some columns."""
    import numpy as np

    scales, spreads = {}, {}
    for name, a in one.table.items():
        b, kinds = two.table[name], "iuf" if one.samples is None else "f"
        exact = name in EXACT or (a.dtype.kind != "f" and a.equals(b))
        if exact or not {a.dtype.kind, b.dtype.kind} <= {*kinds}:
            continue
        size, least = np.fmax(a.abs(), b.abs()).to_numpy(float), RUNS
        small = SMALL_IN_RUNS
        if one.samples is None:
            small = SMALL * np.max(size[np.isfinite(size)], initial=0.0) + SMALL**2
            least = CASES
        elif "accuracy" in name:
            size, least = np.ones(len(a)), SAMPLES / one.samples
        apart = ((a - b).abs().to_numpy() / np.where(size > 0, size, 1))[size > small]
        spreads[name] = float(np.max(apart[np.isfinite(apart)], initial=0.0))
        scales[name] = size, small, least
    return {
        name: np.where(np.isfinite(size), max(MULTIPLE * spread, least) * size + small, 0.0)
        for name, (size, small, least) in scales.items()
        for spread in [spreads[name] if one.samples is None else max(spreads.values())]
    }


def _other_shape(archived: Made, again: Made) -> str | None:
    """How the columns, the number of rows or the facts differ."""
    theirs, ours = archived.table, again.table
    more = [name for name in theirs if name not in ours and theirs[name].notna().any()]
    for name in (*more, *(each for each in ours if each not in theirs)):
        return f"only one of the two has the column {name}"
    if len(theirs) != len(ours):
        return f"{len(theirs)} rows in the archive, {len(ours)} here"
    for name, value in archived.facts.items():  # runs of older code have fewer
        if again.facts.get(name) != value:
            return f"{name} is {value!r} in the archive, {again.facts.get(name)!r} here"
    return None
