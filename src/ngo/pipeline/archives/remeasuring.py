"""Measuring cases of an archive's measurements again, and comparing.

A measurement is a table of cases (``ngo.measures.measurement.Case``), each of which can be measured
without the others. Each is measured in a separate process.

Tables do not say where they were measured. It is taken to be the machine of the archive's runs, if
they name only one; there a case must be the same bit for bit. Elsewhere the case is measured twice
here, with two roundings. The spread between the two results says how far apart two roundings of
each column may be.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ngo.measures.measurement import MEASUREMENTS, Case
from ngo.pipeline.archives.agreement import (
    KIND,
    MULTIPLE,
    distances,
    largest_difference,
    unequal_row,
)
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.packed_runs import FinishedRun
from ngo.pipeline.archives.retraining import BITS, ROUNDINGS, output_lines
from ngo.pipeline.config_files import load_plugins
from ngo.pipeline.places import tidy_table
from ngo.pipeline.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

# What is allowed where the spread of a column is smaller: a share of the value.
RELATIVE = 1e-6

# Differences below this share of the largest value in a column are rounding.
SMALL = 1e-12

# So are differences below this: V of workers that agree is a square of rounding errors.
SQUARE = SMALL**2

# Narrower vectors in the libraries that measurements use, and none of our kernels.
ROUNDING = {
    "NGO_MARCH": "none",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
}


@dataclass(frozen=True)
class Measured:
    """A table of a measurement in an archive."""

    kind: str
    name: str
    table: pd.DataFrame
    cases: Sequence[Case]

    @property
    def id(self) -> str:
        """The name of the tidy table."""
        return f"{self.kind}_{self.name}"

    def said(self, number: int) -> str:
        """The name of a case, for print."""
        facts = ", ".join(f"{name} {value}" for name, value in self.cases[number].facts.items())
        return f"{self.id}: {facts}" if facts else self.id

    def rows(self, number: int) -> pd.DataFrame:
        """The archive's rows of a case."""
        return self.table[self.of_case(self.table, number)].reset_index(drop=True)

    def of_case(self, rows: pd.DataFrame, number: int) -> pd.Series:
        """Whether each of ``rows`` is of a case."""
        import pandas as pd

        kept = pd.Series(True, index=rows.index)
        for name, value in self.cases[number].facts.items():
            kept &= rows[name] == value
        return kept

    def fault(self) -> str | None:
        """The first row that belongs to no case; None if there is none."""
        names = list(self.cases[0].facts)
        if absent := [name for name in names if name not in self.table]:
            return f"it has no column {absent[0]!r}"
        known = {tuple(case.facts.values()) for case in self.cases}
        try:
            found = self.table[names].drop_duplicates().itertuples(index=False, name=None)
        except TypeError:  # lists, for example
            return f"the columns {', '.join(names)} have values that no case has"
        stray = next((row for row in found if names and row not in known), None)
        return None if stray is None else f"it has rows of a case that the config lacks: {stray}"


def measured_tables(archive: Archive, planned: Plan) -> tuple[list[Measured], dict[str, str]]:
    """The tables in an archive that can be measured again; why others can't, by their names."""
    found, unchecked = [], {}
    for kind, entries in planned.measures.items():
        entry = MEASUREMENTS[kind]
        for name, values in entries.items():
            path = tidy_table(planned.tier, f"{kind}_{name}")
            if path not in archive.members:
                continue
            if entry.on_models:
                unchecked[f"{kind}_{name}"] = "it needs kept models"
            elif entry.run_fields:
                unchecked[f"{kind}_{name}"] = "it measures time, or runs"
            else:
                cases = entry.parts(entry.read(f"{kind}.{name}", values))
                found.append(Measured(kind, name, archive.table(path), cases))
    return found, unchecked


class Remeasuring:
    """Measures cases again, each in a separate process, and compares."""

    def __init__(self, planned: Plan, runs: Iterable[FinishedRun]) -> None:
        """``runs`` are those of the archive."""
        self._planned = planned
        kinds = {(run.record.get("processor"), *map(run.about.get, KIND)) for run in runs}
        self._made_on = kinds.pop() if len(kinds) == 1 else None

    def difference(self, measured: Measured, number: int) -> tuple[str, str | None]:
        """How a case was compared, and what differs, if anything does."""
        archived = measured.rows(number)
        one, here = self.again(measured, number, {})
        fault = _other_shape(archived, one) or bit_difference(archived, one)
        if fault is None or here == self._made_on or _other_shape(archived, one):
            return BITS, fault
        two, _ = self.again(measured, number, ROUNDING)
        return ROUNDINGS, difference_beyond_rounding(archived, one, two)

    def again(
        self, measured: Measured, number: int, environment: Mapping[str, str]
    ) -> tuple[pd.DataFrame, tuple]:
        """The rows of a case, measured with more variables in the environment, and where."""
        import pandas as pd

        asked = {
            "plugins": self._planned.plugins,
            "kind": measured.kind,
            "name": measured.name,
            "entry": self._planned.measures[measured.kind][measured.name],
            "number": number,
        }
        with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
            out = Path(folder, "case.parquet")
            command = [sys.executable, "-P", "-m", "ngo.pipeline.archives.remeasuring", str(out)]
            what = f"verify: {measured.said(number)}"
            lines = output_lines(command, what, environment, json.dumps(asked))
            return pd.read_parquet(out), tuple(json.loads(lines[-1]))


def bit_difference(archived: pd.DataFrame, again: pd.DataFrame) -> str | None:
    """The first value of a case that is another; None if all are equal."""
    for name in again:
        if (row := unequal_row(archived[name], again[name])) is not None:
            return _named(name, archived, row, f"{again[name][row]} measured")
    return None


def difference_beyond_rounding(
    archived: pd.DataFrame, one: pd.DataFrame, two: pd.DataFrame
) -> str | None:
    """The first value that two roundings of a case do not explain; None if there is none.

    The archive's value must be within ``MULTIPLE`` times the column's spread, the largest relative
    difference of the two, or within the floor, of the nearer of the two.
    """
    import numpy as np

    for name in one:
        a, b, theirs = one[name], two[name], archived[name]
        if not (a.dtype.kind in "iuf" and theirs.dtype.kind in "iuf"):
            far = ~((theirs == a) | (theirs.isna() & a.isna()) | (theirs == b)).to_numpy()
        else:
            x, y, z = (each.to_numpy(float) for each in (a, b, theirs))
            size = np.fmax(np.abs(x), np.abs(y))
            largest = np.max(size[np.isfinite(size)], initial=0.0)
            spread = largest_difference(x, y, SMALL * largest, relative=True)
            share = max(MULTIPLE * spread, RELATIVE)
            allowed = np.where(np.isfinite(size), share * size, 0) + SMALL * largest + SQUARE
            far = distances(z, x, y) > allowed
        if far.any():
            row = int(np.argmax(far))
            told = f"{a[row]} and {b[row]} measured with two roundings"
            return _named(name, archived, row, told)
    return None


def _other_shape(archived: pd.DataFrame, again: pd.DataFrame) -> str | None:
    if len(archived) != len(again):
        return f"{len(archived)} rows in the archive, {len(again)} measured"
    if absent := [name for name in again if name not in archived]:
        return f"the archive has no column {absent[0]!r}"
    more = [name for name in archived if name not in again and archived[name].notna().any()]
    return f"only the archive has values of {more[0]!r}" if more else None


def _named(column: str, archived: pd.DataFrame, row: int, told: str) -> str:
    return f"{column} in row {row}: {archived[column][row]} in the archive, {told}"


def _main(out: str) -> None:
    """Measure the case that standard input names, and print where."""
    asked = json.load(sys.stdin)
    load_plugins(asked)
    entry = MEASUREMENTS[asked["kind"]]
    options = entry.read(f"{asked['kind']}.{asked['name']}", asked["entry"])
    table = entry.parts(options)[asked["number"]].measure()
    table.to_parquet(out, index=False)

    from ngo.training.record import kind, processor

    here = kind("cpu")
    print(json.dumps([processor(), *(here[name] for name in KIND)]))


if __name__ == "__main__":
    _main(sys.argv[1])
