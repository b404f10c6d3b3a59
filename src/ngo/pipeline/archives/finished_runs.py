"""Finished runs in an archive: one table with the rows of all, and one line for each record.

Both are compressed. The files of a run are written from them byte for byte, by the version of
pyarrow that wrote the originals.
"""

from __future__ import annotations

import io
import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from types import NoneType

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from ngo.common import versions
from ngo.common.files import write_text
from ngo.common.parquet_columns import read_columns, write_columns
from ngo.training import run_folder
from ngo.training.results_version import results_version
from ngo.training.spec import RunSpec
from verdicts.files import content_of, opened
from verdicts.registry import UserError, strange

#: The members with the metrics and the records of all runs.
METRICS = "results/runs/metrics.parquet"
RECORDS = "results/runs/records.jsonl.xz"

# Facts in a run's metrics file, other than its id and its fields.
_SIZE = ("train_samples", "classes_covered", "parameters")

# What a record has, and the types of it.
_KINDS: dict[str, type | tuple] = {
    **dict.fromkeys(("spec", "about", "final", "versions"), dict),
    **dict.fromkeys(("id", "started"), str),
    "wall_seconds": (int, float),
    "evaluation_seconds": list,
    **dict.fromkeys(_SIZE, (int, NoneType)),
    **dict.fromkeys(("source", "processor", "device"), (str, NoneType)),
    "seed": (int, NoneType),
}

# What ``about`` has: the results version, the partition, and what the bits of metrics depend on.
_ABOUT = ("code", "parts", "torch", "device", "instructions", "kernels", "test_samples")


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its record (``run.json``) and the columns of its metrics."""

    record: dict
    #: By name, each with one value for every evaluation.
    columns: dict[str, np.ndarray]

    @property
    def id(self) -> str:
        """The run's id."""
        return self.record["id"]

    @property
    def about(self) -> dict:
        """Which run it is, and what made it (see ``ngo.training.run_folder``)."""
        return {**self.record["about"], **self.record["spec"]}

    @property
    def facts(self) -> dict[str, object]:
        """The facts in its metrics file."""
        size = {name: self.record[name] for name in _SIZE}
        return {"run": self.id, **self.record["spec"], **size}

    @property
    def seconds(self) -> float:
        """The time that it took, up to its last evaluation."""
        return float(self.record["evaluation_seconds"][-1])

    @property
    def record_text(self) -> str:
        """Its record as ``run.json`` has it."""
        return json.dumps(self.record, indent=2) + "\n"


def revisions(records: Iterable[Mapping]) -> str:
    """The source revisions in the records of runs, each with the library versions that differ from
    those here.
    """
    made_by = {(record.get("source") or "unknown", versions.others(record)) for record in records}
    return ", ".join(sorted(" with ".join(filter(None, pair)) for pair in made_by))


def read_run(folder: Path) -> FinishedRun:
    """The finished run in ``folder``; a UserError if its files are damaged or not of one run."""
    path = folder / run_folder.RECORD
    try:
        record = json.loads(content_of(path, "archive"))
        known = record.pop(run_folder.SUM, None)  # of the file, which is packed otherwise
        columns, facts = read_columns(folder / run_folder.METRICS, "archive", ("step", "diverged"))
        run = FinishedRun(record, columns)
        _check(run)
        whole = known in (None, run_folder.sum_of(folder / run_folder.METRICS))
        agree = whole and run.facts == facts
    except (ValueError, LookupError, TypeError, AttributeError):
        agree = False
    if not agree:
        raise UserError(f"archive: {str(path)!r} is damaged, or not the record of its metrics.")
    return run


def of_this_code(run: FinishedRun, spec: RunSpec) -> bool:
    """Whether ``run`` is what ``spec`` would give in one process, with this code and libraries."""
    same = run.about["code"] == results_version(spec) and not versions.others(run.record)
    return same and run_folder.is_run(run.about, spec)


def write_run(folder: Path, run: FinishedRun) -> None:
    """Write the files of a run into ``folder``, in place of those of an earlier one."""
    run_folder.clear(folder)
    write_columns(folder / run_folder.METRICS, run.facts, [run.columns])
    record = {**run.record, run_folder.SUM: run_folder.sum_of(folder / run_folder.METRICS)}
    write_text(folder / run_folder.RECORD, FinishedRun(record, {}).record_text)


def packed(runs: Iterable[FinishedRun]) -> dict[str, bytes]:
    """The two members of an archive that hold ``runs``."""
    ordered = sorted(runs, key=lambda run: run.id)
    lines = "".join(json.dumps(run.record, separators=(",", ":")) + "\n" for run in ordered)
    return {METRICS: _table(ordered), RECORDS: lzma.compress(lines.encode(), preset=9)}


def unpacked(members: Mapping[str, bytes]) -> dict[str, FinishedRun]:
    """The runs in an archive by id; a UserError if its two members do not fit together."""
    if not {METRICS, RECORDS} <= members.keys():
        raise UserError("it has no runs, or an earlier version packed it")
    with strange("its runs can't be read"):
        lines = lzma.decompress(members[RECORDS]).decode().splitlines()
        records = {record["id"]: record for record in map(json.loads, lines)}
        columns = dict(_columns(members[METRICS]))
        runs = {name: FinishedRun(records[name], columns[name]) for name in columns}
        for run in runs.values():
            _check(run)
    if len(records) > len(runs):
        raise UserError(f"the run {min(records.keys() - runs.keys())} has a record and no rows")
    return runs


def _check(run: FinishedRun) -> None:
    """Raise a ValueError, LookupError or TypeError for a run that none can be."""
    record = run.record
    if not re.fullmatch(r"\w[\w.+-]*", record["id"]) or run.id in _TAKEN:
        raise ValueError(f"{run.id!r} is not the name of a run")
    if other := [key for key, kind in _KINDS.items() if not isinstance(record.get(key), kind)]:
        raise ValueError(f"the {other[0]} of {run.id} is absent, or of another type")
    about = {name: record["about"][name] for name in _ABOUT}
    final, made_with = record["final"], record["versions"]
    plain = [final["step"], *about.values(), *final.values(), *made_with.values()]
    if not all(isinstance(value, (str, int, float, NoneType)) for value in plain):
        raise ValueError(f"the record of {run.id} has values of other types")
    if not {"step", "diverged"} <= run.columns.keys() or not len(run.columns["step"]):
        raise ValueError(f"the metrics of {run.id} are not complete")
    if both := sorted(run.columns.keys() & run.facts.keys()):
        raise ValueError(f"{both[0]!r} of {run.id} is a column and a fact")
    datetime.fromisoformat(record["started"])
    if not run.seconds >= 0:
        raise ValueError(f"{run.id} took {run.seconds} seconds")


# Names in the folder of runs that no run may have.
_TAKEN = (PurePosixPath(METRICS).name, PurePosixPath(RECORDS).name)


def _table(runs: list[FinishedRun]) -> bytes:
    """The rows of ``runs`` as parquet; a column that a run lacks is null in its rows."""
    rows = [pa.table({"run": [run.id] * len(run.columns["step"]), **run.columns}) for run in runs]
    try:
        table = pa.concat_tables(rows, promote_options="default").combine_chunks()
    except pa.ArrowException:
        raise UserError("archive: the runs have columns of different types.") from None
    floats = [name for name in table.column_names if table[name].type == pa.float64()]
    file = io.BytesIO()
    others = [name for name in table.column_names if name not in floats]
    how = {"use_dictionary": others, "use_byte_stream_split": floats}
    parquet.write_table(table, file, compression="zstd", compression_level=15, **how)
    return file.getvalue()


def _columns(content: bytes) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """The columns of each run in a table of ``_table``."""
    table = opened(content).read(use_threads=False).combine_chunks()
    (rows,) = table.to_batches()
    runs = rows["run"].to_pylist()
    starts = [k for k, run in enumerate(runs) if k == 0 or run != runs[k - 1]]
    if len({runs[k] for k in starts}) < len(starts):
        raise ValueError("the rows of a run are not together")
    for start, end in zip(starts, [*starts[1:], len(runs)], strict=True):
        of_run = rows.slice(start, end - start)
        columns = zip(of_run.schema.names[1:], of_run.columns[1:], strict=True)
        yield runs[start], {n: _values(n, c) for n, c in columns if c.null_count < len(c)}


def _values(name: str, column: pa.Array) -> np.ndarray:
    """The values of a column of a run."""
    values = column.to_numpy(zero_copy_only=False)
    if column.null_count or values.dtype.kind not in "ifb":
        raise ValueError(f"its column {name!r} has missing values, or is of another type")
    return values
