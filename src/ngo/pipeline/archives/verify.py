"""The checks of ``ngo verify``: what an archive says of itself, and parts of it made again.

A forger can compute the sums of changed files. So the parts must agree, and some runs and measured
cases (``ngo.measures.measurement.Case``) are made again, each in a separate process. The verifier's
seed draws them. On the kind of processor that made the archive, the numbers must be equal. On
others, rounding differs, and training amplifies it. There, each run or case is made twice, with two
roundings a and b. The distance between a and b says how far apart two roundings may be.

The draw is among all runs and cases of the archive, or among those that a claim rests on. A claim
rests on the rows that it selects (``where``) and that its quantity compares (arguments such as
``of`` and ``minus``); runs of gates do not count. A pooled claim rests on the runs of its claims.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import inf, isfinite
from pathlib import Path

import numpy as np
import pandas as pd

from ngo.common.plugins import load
from ngo.data import download
from ngo.measures.measurement import MEASUREMENTS, Case
from ngo.pipeline.archives.archive import Archive
from ngo.pipeline.archives.finished_runs import FinishedRun, of_this_code, read_run, revisions
from ngo.pipeline.archives.unpack import absent_run, needed_tables, relabelled
from ngo.pipeline.paths import tidy_table
from ngo.pipeline.plan import Plan
from ngo.training.spec import RunSpec, flags_of
from verdicts.archive import Check, drawn, missing, other_shape
from verdicts.archive import difference as differing
from verdicts.claims import Claim, selections
from verdicts.files import table_in
from verdicts.members import SAFE_PATH
from verdicts.registry import UserError, one_of
from verdicts.table import Selection, matches

# The archive's value may be this many times the distance of a and b away from the nearer one.
MULTIPLE = 4

# What is allowed where that distance is smaller, of runs and of cases: a share of the value. Of
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
    #: The processor and the ``BUILD``; None if they are not known.
    made_on: tuple | None
    #: What else is said of a run.
    facts: Mapping[str, object] = field(default_factory=dict)
    #: The test samples of a run; 0 for a case.
    samples: int = 0


def compared(archived: Made, again: Callable[[Mapping[str, str]], Made]) -> tuple[str, str | None]:
    """The kind of comparison with ``archived``, and the first difference, if there is one.

    ``again`` makes it with more variables in its environment.
    """
    one = again({})
    fault = difference(archived, one)
    if fault is None or archived.made_on == one.made_on:
        return "bit for bit", fault
    return "within two roundings", difference(archived, one, again(other_rounding(one)))


def other_rounding(made: Made) -> dict[str, str]:
    """Variables with which it is made with another rounding.

    With our kernels in place of torch's operations or the other way round, and with narrower
    vectors in the libraries.
    """
    *known, kernels = made.made_on or (None,)
    wide = "AVX512" in known
    return {
        "NGO_MARCH": "none" if kernels else "native",
        "ATEN_CPU_CAPABILITY": "avx2" if wide else "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
    }


def difference(archived: Made, one: Made, two: Made | None = None) -> str | None:
    """The first value that differs from ``one``; with ``two``, by more than two roundings may.

    The distance of a value from the nearer of the two may be a floor, or ``MULTIPLE`` times the
    largest difference of the two: over all columns of a run, or in one column of a case.
    Differences of accuracies are absolute; others are relative to the larger value.
    """
    if two is not None and _other_shape(one, two):  # rounding decides when this run ends
        ends = [_other_shape(archived, again) for again in (one, two)]
        return ends[0] if all(ends) else None
    if other := _other_shape(archived, one):
        return other
    if two is None:
        return differing(archived.table, one.table)
    return differing(archived.table, one.table, two.table, allowed=_allowed(one, two))


def _allowed(one: Made, two: Made) -> dict[str, np.ndarray]:
    """The allowed distance from the nearer of two roundings, by row, of the columns that round."""
    scales, of_run, numeric = {}, bool(one.samples), {*("f" if one.samples else "iuf")}
    for name, a in one.table.items():
        b = two.table[name]
        exact = name in EXACT or (a.dtype.kind != "f" and a.equals(b))
        if exact or not {a.dtype.kind, b.dtype.kind} <= numeric:
            continue
        size = np.fmax(a.abs(), b.abs()).to_numpy(float)
        small = SMALL * np.max(size[np.isfinite(size)], initial=0.0) + SMALL**2
        small, least = (SMALL_IN_RUNS, RUN_SHARE) if of_run else (small, CASE_SHARE)
        if of_run and "accuracy" in name:
            size, least = np.ones(len(a)), TEST_SAMPLES / one.samples
        apart = ((a - b).abs().to_numpy() / np.where(size > 0, size, 1))[size > small]
        spread = float(np.max(apart[np.isfinite(apart)], initial=0.0))
        scales[name] = size, small, least, spread
    widest = max((spread for *_, spread in scales.values()), default=0.0) if of_run else 0.0
    return {
        name: np.where(np.isfinite(size), max(MULTIPLE * max(own, widest), least) * size + small, 0)
        for name, (size, small, least, own) in scales.items()
    }


def _other_shape(archived: Made, again: Made) -> str | None:
    """The first difference in columns, numbers of rows or facts."""
    if other := other_shape(archived.table, again.table):
        return other
    for name, value in archived.facts.items():  # runs of older code have fewer
        if again.facts.get(name) != value:
            return f"{name} is {value!r} in the archive, {again.facts.get(name)!r} here"
    return None


# What the bits of numbers depend on, besides values, code and the processor.
BUILD = ("torch", "device", "instructions", "kernels")


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

    def made(self, number: int, made_on: tuple | None) -> Made:
        """The archive's rows of a case."""
        rows = self.table[meeting(self.table, self.cases[number].facts)]
        return Made(rows.reset_index(drop=True), made_on)

    def fault(self) -> str | None:
        """The first row that belongs to no case; None if there is none."""
        if absent := [name for name in self.cases[0].facts if name not in self.table]:
            return f"it has no column {absent[0]!r}"
        known = sum(meeting(self.table, case.facts) for case in self.cases)
        return "it has rows of a case that the config lacks" if (known == 0).any() else None


def meeting(rows: pd.DataFrame, conditions: Selection) -> pd.Series:
    """Whether each row meets the conditions; one on an absent column counts as met."""
    met = pd.Series(True, index=rows.index)
    for column, wanted in conditions.items():
        if column in rows:
            met &= matches(rows[column], wanted)
    return met


def made_run(run: FinishedRun) -> Made:
    """The results of a finished run."""
    made_on = run.record.get("processor"), *map(run.about.get, BUILD)
    return Made(pd.DataFrame(run.columns), made_on, run.facts, run.about["test_samples"])


def train_again(
    spec: RunSpec, planned: Plan, root: Path, threads: int | None, more: Mapping[str, str]
) -> Made:
    """The run ``spec``, trained on the CPU with ``more`` variables in its environment.

    Data sets are read below ``root``. Raises a UserError if it can't be trained.
    """
    with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
        given = {"device": "cpu", "data_root": root, "plugin": planned.plugins, "out": folder}
        given |= {} if threads is None else {"threads": threads}
        output_of(["ngo", "train", *spec.flags(), *flags_of(given)], f"train: {spec.id}", more)
        return made_run(read_run(Path(folder)))


def measure_again(measured: Measured, number: int, planned: Plan, more: Mapping[str, str]) -> Made:
    """A case, measured with ``more`` variables in the environment."""
    entry = planned.measures[measured.kind][measured.name]
    asked = json.dumps([planned.plugins, measured.kind, measured.name, entry, number])
    with tempfile.TemporaryDirectory(prefix="ngo-verify-") as folder:
        out = Path(folder, "case.parquet")
        words = [__name__, str(out)]
        said = output_of(words, f"verify: {measured.said(number)}", more, asked)
        return Made(table_in(out.read_bytes()), tuple(json.loads(said.splitlines()[-1])))


def output_of(words: Sequence[str], what: str, more: Mapping[str, str], text: str = "") -> str:
    """The output of a module with ``text`` as input and ``more`` variables in its environment.

    It imports no modules from the working directory. If it fails, a UserError has its last line,
    after ``what``.
    """
    command, variables = [sys.executable, "-m", *words], os.environ | SAFE_PATH | more
    answer = subprocess.run(command, env=variables, input=text, capture_output=True, text=True)
    if answer.returncode:
        lines = (answer.stderr or answer.stdout).strip().splitlines() or ["no message"]
        raise UserError(f"{what}: {lines[-1].removeprefix('ngo: ')}")
    return answer.stdout


@dataclass(frozen=True)
class Group:
    """A population to draw from: everything in an archive, or the basis of one claim."""

    #: The claim's id; empty for the whole archive.
    claim: str
    #: Its runs, and the numbers of its cases by the name of the table.
    runs: Sequence[str]
    cases: Mapping[str, Sequence[int]]
    #: Further tables of a claim; their rows can't be made again.
    unchecked: Sequence[str] = ()


def bases(names: Iterable[str], planned: Plan, measured: Mapping[str, Measured]) -> list[Group]:
    """What each of the named claims rests on, among the plan's runs and the measured tables.

    Raises a UserError for a name that no claim has.
    """
    claims = planned.ledger.claims

    @cache
    def facts(table: str) -> pd.DataFrame:
        return pd.DataFrame([{"run": spec.id, **spec.values()} for spec in planned.runs_of(table)])

    def parts(claim: Claim) -> list[Claim]:
        return [claim, *(part for name in claim.pooled for part in parts(claims[name]))]

    def basis(claim: Claim) -> Group:
        runs: set[str] = set()
        cases: dict[str, set[int]] = {}
        read = [(name, part) for part in parts(claim) for name in part.tables]
        for name, part in read:
            if len(facts(name)):
                runs |= {*_compared(facts(name), part)["run"]}
            elif name in measured:
                cases.setdefault(name, set()).update(_cases(measured[name], part))
        unchecked = dict.fromkeys(n for n, _ in read if not len(facts(n)) and n not in measured)
        numbers = {name: sorted(chosen) for name, chosen in cases.items()}
        return Group(claim.id, sorted(runs), numbers, [*unchecked])

    return [basis(claims[one_of("claim", name, claims)]) for name in dict.fromkeys(names)]


def _compared(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The rows that a claim selects and its quantity compares; none if nothing of it was run.

    A condition on a column that the table lacks counts as met.
    """
    sides = [side for _, side in selections(claim.id, claim) if {*side} <= {*rows}] or [{}]
    return rows[meeting(rows, claim.where) & (sum(meeting(rows, side) for side in sides) > 0)]


def _cases(measured: Measured, claim: Claim) -> list[int]:
    """The numbers of the cases of a measured table that a claim selects and compares."""
    rows = _compared(measured.table, claim)
    return [k for k, case in enumerate(measured.cases) if meeting(rows, case.facts).any()]


# Measurements with cases of minutes, which are drawn only with ``--claim``.
LONG = ("theory",)


class Verification:
    """The checks of one archive."""

    def __init__(self, archive: Archive, planned: Plan, root: Path, longest: float = inf) -> None:
        """``planned`` is the plan of the archive. Data sets are read below ``root``."""
        self.archive, self.runs, self.planned, self._root = archive, archive.runs, planned, root
        reasons = {name: _not_drawn(run, planned, longest) for name, run in self.runs.items()}
        self.names = sorted(name for name, why in reasons.items() if why is None)
        self.unchecked_runs = Counter(filter(None, reasons.values()))
        measured, self.unchecked_tables = measured_tables(archive, planned)
        self._faults = {table.id: table.fault() for table in measured}
        self.measured = {table.id: table for table in measured if self._faults[table.id] is None}
        kinds = {made_run(run).made_on for run in self.runs.values()}
        self._made_on = kinds.pop() if len(kinds) == 1 else None

    def without_training(self) -> Iterator[Check]:
        """The checks of what the archive says of itself."""
        archive, planned = self.archive, self.planned
        yield "sums", f"{len(archive.members)} files of the archive are intact", None
        other = next(filter(None, map(_other_final, self.runs.values())), None)
        how = "they have the config's values and the last rows of the runs"
        yield "records", how, other or relabelled(archive, planned)
        absent = absent_run(archive, planned, needed_tables(archive, planned))
        how = "all that the tables and figures are made from"
        yield "runs", how, f"{absent} is not in the archive" if absent else None
        for name, fault in self._faults.items():
            yield name, "its cases are those of the config", fault

    def groups(self, claims: Sequence[str]) -> list[Group]:
        """The basis of each claim in the archive; without claims, all but long cases."""
        if claims:
            groups = bases(claims, self.planned, self.measured)
            return [replace(g, runs=[run for run in g.runs if run in self.runs]) for g in groups]
        cases = {name: range(len(table.cases)) for name, table in self.measured.items()}
        for name in [name for name in cases if self.measured[name].kind in LONG]:
            self.unchecked_tables[name] = "its cases take minutes; --claim draws among them"
            del cases[name]
        return [Group("", [*self.runs], cases)]

    def draw(self, groups: Sequence[Group], sample: int, seed: int | None) -> list[Group]:
        """Of each group, ``sample`` of its runs that can be made here, and of each table's cases.

        Raises a UserError if runs were asked for and none can be made, or for absent data.
        """
        chosen = []
        for group in groups:
            cases = {name: drawn(numbers, sample, seed) for name, numbers in group.cases.items()}
            runs = drawn(self._drawable(group), sample, seed)
            chosen.append(replace(group, runs=runs, cases=cases))
        names = {name for group in chosen for name in group.runs}
        if sample and not names and any(group.runs for group in groups):
            reasons = ", ".join(f"{count} {why}" for why, count in self.unchecked_runs.items())
            fault = f"no run can be retrained: {reasons or 'the archive has none'}"
            made_by = revisions(run.record for run in self.runs.values())
            raise UserError(f"verify: {fault}. Runs were made by revision {made_by}.")
        for dataset in sorted({self.planned.runs[name].dataset for name in names}):
            download.check(dataset, self._root)
        return chosen

    def _drawable(self, group: Group) -> list[str]:
        return sorted({*self.names} & {*group.runs})

    def odds(self, group: Group, chosen: Group) -> Iterator[str]:
        """Lines on what was made again, with the probability of missing a forgery."""
        indent, drawable = "  " * bool(group.claim), self._drawable(group)
        if group.claim:
            rests = [f"{len(group.runs)} runs"] if group.runs else []
            rests += [f"{len(numbers)} cases of {name}" for name, numbers in group.cases.items()]
            rests += [f"{name}, which is not checked" for name in group.unchecked]
            yield f"claim {group.claim} rests on {' and '.join(rests) or 'nothing in this archive'}"
        made = [("runs retrained", drawable, chosen.runs)] if drawable or not indent else []
        for name, numbers in group.cases.items():
            made.append((f"cases of {name} measured again", numbers, chosen.cases[name]))
        for done, among, again in made:
            yield f"{indent}{missing(len(among), len(again), done)}"

    def made_again(self, chosen: Sequence[Group], threads: int | None = None) -> Iterator[Check]:
        """Make the drawn runs and cases again, each once."""
        for name in sorted({name for group in chosen for name in group.runs}):
            spec = self.planned.runs[name]
            again = partial(train_again, spec, self.planned, self._root, threads)
            yield name, *compared(made_run(self.runs[name]), again)
        cases = {(name, k) for group in chosen for name, ks in group.cases.items() for k in ks}
        for name, number in sorted(cases):
            table = self.measured[name]
            again = partial(measure_again, table, number, self.planned)
            yield table.said(number), *compared(table.made(number, self._made_on), again)


def measured_tables(archive: Archive, planned: Plan) -> tuple[list[Measured], dict[str, str]]:
    """The tables in an archive that can be measured again; why others can't, by their names."""
    measured, unchecked = [], {}
    for kind, entries in planned.measures.items():
        entry = MEASUREMENTS[kind]
        for name, values in entries.items():
            path = tidy_table(planned.tier, f"{kind}_{name}")
            if path not in archive.members:
                continue
            if entry.on_models or entry.run_fields:
                why = "kept models" if entry.on_models else "time, or runs"
                unchecked[f"{kind}_{name}"] = f"it measures {why}"
            else:
                cases = entry.parts(entry.read(f"{kind}.{name}", values))
                measured.append(Measured(kind, name, archive.table(path), cases))
    for name in planned.partitions:
        if tidy_table(planned.tier, f"classes_{name}") in archive.members:
            unchecked[f"classes_{name}"] = "it counts samples of partitions"
    return measured, unchecked


def _not_drawn(run: FinishedRun, planned: Plan, longest: float) -> str | None:
    """Why a run can't be retrained here; None if it can be."""
    if run.id not in planned.runs:
        return "not in the archive's config"
    if not of_this_code(run, planned.runs[run.id]):
        return "of another results version"
    return "longer than --longest" if run.seconds > longest else None


def _other_final(run: FinishedRun) -> str | None:
    """The first value by which a record's last evaluation differs from the last row."""
    for name, column in run.columns.items():
        value = column[-1].item()
        if run.record["final"].get(name) != (value if isfinite(value) else None):
            return f"{run.id}: {name} is {value} in its last row, another in its record"
    return None


def _main(out: str) -> None:
    """Measure the case that standard input names, and print what it was made on."""
    plugins, kind, name, options, number = json.load(sys.stdin)
    load(plugins)
    entry = MEASUREMENTS[kind]
    entry.parts(entry.read(f"{kind}.{name}", options))[number].measure().to_parquet(out)

    from ngo.training import run_folder

    here = run_folder.kind("cpu")
    print(json.dumps([run_folder.processor(), *(here[name] for name in BUILD)]))


if __name__ == "__main__":
    _main(sys.argv[1])
