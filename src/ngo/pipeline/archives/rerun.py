"""Making the runs and the measured cases of an archive again, and whether the numbers agree.

A run or a case (``ngo.measures.measurement.Case``) is made in a process of its own. On the kind of
processor of the archive, the numbers must be equal. Elsewhere rounding differs, and training
amplifies it. There they are made twice, with two roundings a and b; the spread between a and b says
how far apart two roundings may be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.common.plugins import load
from ngo.measures.measurement import MEASUREMENTS, Case
from ngo.pipeline.archives.finished_runs import FinishedRun, read_run
from ngo.pipeline.archives.members import SAFE_PATH
from ngo.pipeline.plan import Plan
from ngo.training.spec import RunSpec
from verdicts.files import table_in
from verdicts.registry import UserError
from verdicts.table import Selection, matches

# The archive's value may be this many times the spread away from the nearer of a and b.
MULTIPLE = 4

# What is allowed where the spread is smaller, of runs and of cases: a share of the value. Of
# accuracies it is a number of test samples.
RUN_SHARE, CASE_SHARE, TEST_SAMPLES = 1e-3, 1e-6, 2

# Differences below this are rounding: in runs, and in cases as a share of a column's largest value.
# So are those below its square there: V of workers that agree is a square of rounding errors.
SMALL_IN_RUNS, SMALL = 1e-6, 1e-12

# Columns that no rounding changes.
EXACT = ("step", "epoch", "samples")


@dataclass(frozen=True)
class Made:
    """The results of a run or a case, in the archive or here."""

    table: pd.DataFrame
    #: What the bits of its numbers depend on, besides its values and code; None if not known.
    where: tuple | None
    #: What else is said of a run.
    facts: Mapping[str, object] = field(default_factory=dict)
    #: The test samples of a run; None for a case.
    samples: int | None = None


def compared(archived: Made, again: Callable[[Mapping[str, str]], Made]) -> tuple[str, str | None]:
    """The kind of comparison with ``archived``, and the first difference, if there is one.

    ``again`` makes it with more variables in its environment.
    """
    one = again({})
    fault = difference(archived, one)
    if fault is None or archived.where == one.where:
        return "bit for bit", fault
    return "within two roundings", difference(archived, one, again(other_rounding(one)))


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
    """The first value that differs from ``one``; with ``two``, by more than two roundings may.

    A value may be ``MULTIPLE`` times the spread, or a floor, away from the nearer of the two. The
    spread is the largest difference of the two, over all columns of a run, or in the column of a
    case: plain for accuracies, relative to the larger value for others.
    """
    if two is not None and _other_shape(one, two):  # rounding decides when this run ends
        ends = [_other_shape(archived, again) for again in (one, two)]
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
    """The allowed distance from the nearer of two roundings, by row, of the columns that round."""
    scales, spreads = {}, {}
    for name, a in one.table.items():
        b, kinds = two.table[name], "iuf" if one.samples is None else "f"
        exact = name in EXACT or (a.dtype.kind != "f" and a.equals(b))
        if exact or not {a.dtype.kind, b.dtype.kind} <= {*kinds}:
            continue
        size = np.fmax(a.abs(), b.abs()).to_numpy(float)
        small, least = SMALL_IN_RUNS, RUN_SHARE
        if one.samples is None:
            small = SMALL * np.max(size[np.isfinite(size)], initial=0.0) + SMALL**2
            least = CASE_SHARE
        elif "accuracy" in name:
            size, least = np.ones(len(a)), TEST_SAMPLES / one.samples
        apart = ((a - b).abs().to_numpy() / np.where(size > 0, size, 1))[size > small]
        spreads[name] = float(np.max(apart[np.isfinite(apart)], initial=0.0))
        scales[name] = size, small, least
    if one.samples is not None:
        spreads = dict.fromkeys(spreads, max(spreads.values(), default=0.0))
    return {
        name: np.where(np.isfinite(size), max(MULTIPLE * spreads[name], least) * size + small, 0.0)
        for name, (size, small, least) in scales.items()
    }


def _other_shape(archived: Made, again: Made) -> str | None:
    """The first difference in columns, numbers of rows or facts."""
    theirs, ours = archived.table, again.table
    more = [name for name in theirs if name not in ours and theirs[name].notna().any()]
    for name in (*more, *(column for column in ours if column not in theirs)):
        return f"only one of the two has the column {name}"
    if len(theirs) != len(ours):
        return f"{len(theirs)} rows in the archive, {len(ours)} here"
    for name, value in archived.facts.items():  # runs of older code have fewer
        if again.facts.get(name) != value:
            return f"{name} is {value!r} in the archive, {again.facts.get(name)!r} here"
    return None


# What the bits of numbers depend on, besides values, code and the processor.
KIND = ("torch", "device", "instructions", "kernels")


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

    def made(self, number: int, where: tuple | None) -> Made:
        """The archive's rows of a case, measured there."""
        rows = self.table[meeting(self.table, self.cases[number].facts)]
        return Made(rows.reset_index(drop=True), where)

    def fault(self) -> str | None:
        """The first row that belongs to no case; None if there is none."""
        if absent := [name for name in self.cases[0].facts if name not in self.table]:
            return f"it has no column {absent[0]!r}"
        known = sum(meeting(self.table, case.facts) for case in self.cases)
        return "it has rows of a case that the config lacks" if (known == 0).any() else None


def meeting(rows: pd.DataFrame, where: Selection) -> pd.Series:
    """Whether each row meets the conditions; one on a column that is absent holds."""
    met = pd.Series(True, index=rows.index)
    for column, wanted in where.items():
        if column in rows:
            met &= matches(rows[column], wanted)
    return met


def made_run(run: FinishedRun) -> Made:
    """The results of a finished run."""
    return Made(pd.DataFrame(run.columns), where(run), run.facts, run.about["test_samples"])


def where(run: FinishedRun) -> tuple:
    """The kind of processor that made a run."""
    return (run.record.get("processor"), *map(run.about.get, KIND))


def train_again(
    spec: RunSpec, planned: Plan, root: Path, threads: int | None, environment: Mapping[str, str]
) -> Made:
    """The run ``spec``, trained on the CPU with more variables in its environment.

    Data sets are read below ``root``. Raises a UserError if it can't be trained.
    """
    with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
        words = ["ngo", "train", *spec.flags(), "--device", "cpu", "--data-root", str(root)]
        words += [word for path in planned.plugins for word in ("--plugin", path)]
        words += [] if threads is None else ["--threads", str(threads)]
        output_of([*words, "--out", folder], f"train: {spec.id}", environment)
        return made_run(read_run(Path(folder)))


def measure_again(
    measured: Measured, number: int, planned: Plan, environment: Mapping[str, str]
) -> Made:
    """A case, measured with more variables in the environment."""
    entry = planned.measures[measured.kind][measured.name]
    asked = json.dumps([planned.plugins, measured.kind, measured.name, entry, number])
    with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
        out = Path(folder, "case.parquet")
        words = [__name__, str(out)]
        said = output_of(words, f"verify: {measured.said(number)}", environment, asked)
        return Made(table_in(out.read_bytes()), tuple(json.loads(said.splitlines()[-1])))


def output_of(
    words: Sequence[str], what: str, environment: Mapping[str, str], text: str = ""
) -> str:
    """The output of a module with ``text`` as input and more variables in its environment.

    It imports no modules from the working directory. If it fails, a UserError has its last line,
    after ``what``.
    """
    command, variables = [sys.executable, "-m", *words], os.environ | SAFE_PATH | environment
    answer = subprocess.run(command, env=variables, input=text, capture_output=True, text=True)
    if answer.returncode:
        told = (answer.stderr or answer.stdout).strip().splitlines() or ["no message"]
        raise UserError(f"{what}: {told[-1].removeprefix('ngo: ')}")
    return answer.stdout


def _main(out: str) -> None:
    """Measure the case that standard input names, and print where."""
    plugins, kind, name, options, number = json.load(sys.stdin)
    load(plugins)
    entry = MEASUREMENTS[kind]
    entry.parts(entry.read(f"{kind}.{name}", options))[number].measure().to_parquet(out)

    from ngo.training import record

    here = record.kind("cpu")
    print(json.dumps([record.processor(), *(here[name] for name in KIND)]))


if __name__ == "__main__":
    _main(sys.argv[1])
