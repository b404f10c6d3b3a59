"""Logs that other tools wrote, as one tidy table: a reader for each format.

A reader makes of a file what runs logged: points, each a metric at a step. The last row of a run
has the last value of each metric, so that a claim about the end of training finds it. A run whose
last loss, error, accuracy, score, return or reward is no finite number has diverged.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verdicts.files import read_mapping, regular_file
from verdicts.registry import UserError, in_a_line, printable, shown, unknown
from verdicts.rows.evaluations import worst_of
from verdicts.rows.tables import MOST_BYTES, read_csv

KEY = "import"

#: The most files that are read, the most bytes of one with JSON or of an event, and the most of
#: anything that the preview names.
MOST_FILES, MOST_JSON, MOST_TOLD = 10_000, 2**26, 5

#: Nothing was logged; NaN is a number that was.
MISSING = ("", "na", "null", "none")

#: Columns with the steps of a file, in the order of preference.
STEPS = ("step", "global_step", "_step", "iteration", "iterations", "timesteps", "epoch")

#: Columns of the table that no metric and no setting may have.
RESERVED = ("run", "step", "diverged")

#: A point is a metric, its step, and its value.
Points = list[tuple[str, float, float]]


@dataclass
class Log:
    """What a run logged."""

    name: str
    points: Points = field(default_factory=list)
    settings: dict[str, object] = field(default_factory=dict)
    #: What was left out, and why.
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Format:
    """The names of a format's files, as a pattern, and how one of them is read."""

    files: str
    #: From a file, and the name of the column with steps, if it is given.
    read: Callable[[Path, str | None], Iterator[Log]]
    #: Whether of several values at one step, as resumed runs log them, the last one counts.
    last_counts: bool = False


def import_logs(
    paths: Iterable[Path],
    format: str,
    pattern: str | None = None,
    step: str | None = None,
) -> tuple[pd.DataFrame, str]:
    """The runs in files and folders: a table with a row for each run and step, and its preview.

    ``format`` is one of ``FORMATS``. ``pattern`` finds settings in the names of runs:
    ``{method}/seed{seed}.csv``, where ``*`` is any text. ``step`` is the column with steps. A
    setting that has the name of another column gets a prefix. Raises a UserError for what can't be
    read, if no run is found, and if none fits the pattern.
    """
    if format not in FORMATS:
        raise unknown("as", format, FORMATS)
    fits = _compiled(pattern).fullmatch
    logs: dict[str, Log] = {}
    notes, other = [], []
    for file in (file for path in paths for file in _files(path, FORMATS[format].files)):
        if format == "files" and not fits(file.as_posix()):  # it may be no log
            other.append(file.as_posix())
            continue
        for log in FORMATS[format].read(file, step):
            notes += log.notes
            if (match := fits(log.name)) is None:
                other.append(log.name)
            elif log.points:
                known = logs.setdefault(log.name, Log(log.name))
                known.points += log.points
                known.settings |= {**log.settings, **match.groupdict()}
    if not logs:
        told = f"no run fits the pattern, as {shown(other[0])}" if other else "no metric was found"
        raise UserError(f"{KEY}: {told}.")
    notes += [f"left out: {name} does not fit the pattern" for name in other]
    tables = [_tidy(log, FORMATS[format], notes) for log in logs.values()]
    table = pd.concat(tables, ignore_index=True)
    metrics, settings = [str(name) for name in table if name not in RESERVED], {}
    for name in dict.fromkeys(name for log in logs.values() for name in log.settings):
        of_run = {run: log.settings.get(name) for run, log in logs.items()}
        settings[f"setting_{name}" if name in table else name] = table["run"].map(of_run)
    lost = ["diverged"] if table["diverged"].any() else []
    table = pd.concat([table, pd.DataFrame(settings, index=table.index)], axis=1)
    table = table[["run", *settings, "step", *metrics, *lost]]
    return table, _preview(table, list(settings), metrics, notes)


def _preview(
    table: pd.DataFrame, settings: Sequence[str], metrics: Sequence[str], notes: Sequence[str]
) -> str:
    """What was understood, in some lines."""
    runs = table.drop_duplicates("run")
    told = [
        ("runs", _few(runs["run"])),
        *(("setting", f"{name}: {_few(runs[name].dropna())}") for name in settings),
        ("metrics", _few(metrics, 10 * MOST_TOLD)),
        ("steps", f"{table['step'].min()} to {table['step'].max()}"),
        *([("diverged", _few(runs.loc[runs["diverged"], "run"]))] if "diverged" in runs else []),
        *(("note", note) for note in list(dict.fromkeys(notes))[:MOST_TOLD]),
    ]
    lines = [printable(f"{name:<10}{text}") for name, text in told]
    counts = f"{len(runs)} runs, {len(table)} rows, {len(set(notes))} notes"
    return "\n".join([counts, *lines])


def _few(values: Iterable[object], most: int = MOST_TOLD) -> str:
    """The distinct values, the first of them."""
    distinct = list(dict.fromkeys(map(str, values)))
    more = f", … and {len(distinct) - most} more" if len(distinct) > most else ""
    return ", ".join(distinct[:most]) + more


def _tidy(log: Log, format: Format, notes: list[str]) -> pd.DataFrame:
    """The table of a run: a row for each step, and a column for each metric."""
    points = pd.DataFrame(log.points, columns=["metric", "step", "value"]).drop_duplicates()
    wrong = points[points["step"] % 1 != 0]
    if len(wrong):
        told = f"{wrong['step'].iloc[0]:g} of run {shown(log.name)} is not a whole number"
        raise UserError(f"step: {told}; --step names the column with steps.")
    points["metric"] = points["metric"].replace({name: f"logged_{name}" for name in RESERVED})
    again = points.duplicated(["metric", "step"], keep="last")
    if again.any():
        metric, step, _ = points[again].iloc[0]
        told = f"run {shown(log.name)} has several values of {shown(metric)} at step {step:.0f}"
        if not format.last_counts:
            raise UserError(f"{KEY}: {told}; give each run its own file, or name.")
        notes.append(f"{told}, …: the last one counts")
    points = points[~again].sort_values("step", kind="stable")
    ends = points.drop_duplicates("metric", keep="last")
    whole = pd.concat([points, ends.assign(step=points["step"].iloc[-1])])
    whole = whole.drop_duplicates(["metric", "step"])
    table = whole.pivot(index="step", columns="metric", values="value")
    lost = ends.loc[~np.isfinite(ends["value"]), "metric"]
    diverged = any(worst_of(name) is not None for name in lost)
    if len(lost) and not diverged:
        notes.append(f"{_few(lost)} of run {shown(log.name)} ends in NaN or ∞")
    table = table.set_index(table.index.astype("int64")).reset_index().rename_axis(columns=None)
    return table.assign(run=log.name, diverged=diverged)


def _compiled(pattern: str | None) -> re.Pattern[str]:
    """A regular expression of the names that end in the pattern, from a / on; None is any."""
    parts = re.split(r"(\{\w+\}|\*)", "*" if pattern is None else pattern)
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = (".*" if p == "*" else f"(?P<{p[1:-1]}>[^/]+?)" for p in parts[1::2])
    try:
        return re.compile(f"(?:.*/)?{''.join(parts)}", re.DOTALL)
    except re.error as error:  # a name twice, for example
        raise UserError(f"pattern: {shown(pattern)} is not allowed: {error}.") from None


def _files(path: Path, names: str) -> list[Path]:
    """The file at a path, or those in the folder and its folders whose names fit; no links."""
    if not path.is_dir():
        return [regular_file(path, KEY, MOST_BYTES)]
    found = [
        file
        for folder, _, files in os.walk(path)
        for file in (Path(folder, name) for name in files if fnmatch(name, names))
        if not file.is_symlink()
    ]
    if not 0 < len(found) <= MOST_FILES:
        told = f"{len(found)} files {names}; it must have 1 to {MOST_FILES}"
        raise UserError(f"{KEY}: {str(path)!r} has {told}.")
    return sorted(regular_file(file, KEY, MOST_BYTES) for file in found)


def _csv(path: Path) -> pd.DataFrame:
    """A CSV file, all fields as text."""
    try:
        return read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{KEY}: {str(path)!r} can't be read: {in_a_line(error)}.") from None


def _numbers(table: pd.DataFrame, name: str, path: Path) -> pd.Series | None:
    """The numbers that a column has; None if the first field that is not empty is text."""
    texts = table[name].str.strip()
    texts = texts[~texts.str.lower().isin(MISSING)]
    numbers = pd.to_numeric(texts, errors="coerce").astype(float)
    wrong = (numbers.isna() & (texts.str.lower() != "nan")).to_numpy()
    if not wrong.any():
        return numbers
    if wrong[0]:
        return None
    place = int(wrong.argmax())
    told = f"{shown(texts.iloc[place])} in row {texts.index[place] + 1} is not a number"
    raise UserError(f"{path.name}: {name}: {told}.")


def _steps(table: pd.DataFrame, path: Path, step: str | None) -> pd.Series:
    """The steps of the rows of a file; 0 for its only row."""
    named = {str(name).strip().lower(): str(name) for name in reversed(list(table))}
    if step is not None and step not in table:
        raise unknown("step", step, map(str, table))
    name = step or next((named[known] for known in STEPS if known in named), None)
    if name is None and len(table) > 1:
        told = f"which column has the steps? --step names it, of {', '.join(map(str, table))}"
        raise UserError(f"{path.name}: {told}.")
    steps = pd.Series(0.0, table.index) if name is None else _numbers(table, name, path)
    if steps is None or len(steps) < len(table):
        raise UserError(f"{path.name}: {name}: some row has no number.")
    return steps.rename(name)


def _points(metric: str, steps: pd.Series, numbers: pd.Series) -> Points:
    return [(metric, at, x) for at, x in zip(steps[numbers.index], numbers, strict=True)]


def _of_columns(path: Path, step: str | None) -> Iterator[Log]:
    """A run in a CSV file, with a column for each metric: Lightning's, and anybody's.

    A column of one text, and a seed, is a setting; Lightning's ``hparams.yaml`` has more.
    """
    table = _csv(path)
    steps = _steps(table, path, step)
    is_lightning = path.name == FORMATS["lightning"].files
    log = Log((path.parent if is_lightning else path).as_posix())
    for name in (str(name) for name in table if name != steps.name):
        numbers = _numbers(table, name, path)
        if (numbers is None or name == "seed") and table[name].nunique() == 1:
            log.settings[name] = table[name].iloc[0]
        elif numbers is None:
            log.notes.append(f"left out: the text in column {name!r}")
        else:
            log.points += _points(name, steps, numbers)
    more = path.with_name("hparams.yaml")
    if is_lightning and more.exists() and more.stat().st_size:
        try:
            log.settings |= _scalars(read_mapping(more, KEY))
        except UserError as error:  # of a Python object, for example
            log.notes.append(f"left out: {error}")
    yield log


def _scalars(values: Mapping[Any, object]) -> dict[str, object]:
    return {str(k): v for k, v in values.items() if isinstance(v, str | int | float)}


def _wandb(path: Path, step: str | None) -> Iterator[Log]:
    """The runs of a W&B chart, exported as CSV: a column ``RUN - METRIC`` for each.

    The columns ``…__MIN`` and ``…__MAX``, and those of steps, are left out.
    """
    table = _csv(path)
    columns = [str(name) for name in table if " - " in str(name)]
    columns = [name for name in columns if not name.endswith(("__MIN", "__MAX", " - _step"))]
    if not columns:
        told = "no column is RUN - METRIC; a table with a row for each run needs no import"
        raise UserError(f"{path.name}: {told}.")
    steps = _steps(table, path, step or str(table.columns[0]))
    for column in columns:
        run, _, metric = column.rpartition(" - ")
        numbers = _numbers(table, column, path)
        if numbers is None:
            yield Log(run, notes=[f"left out: the text in column {column!r}"])
        else:
            yield Log(run, _points(metric, steps, numbers))


def _huggingface(path: Path, step: str | None) -> Iterator[Log]:
    """The run of a ``trainer_state.json``; its checkpoints' files are of the same run."""
    try:
        text = regular_file(path, KEY, MOST_JSON).read_text(encoding="utf-8")
        history = json.loads(text, parse_int=float)["log_history"]
        rows = [(row["step"] + 0.0, row.items()) for row in history]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        told = f"{str(path)!r} is no trainer's state: {in_a_line(error)}"
        raise UserError(f"{KEY}: {told}.") from None
    of_checkpoint = re.fullmatch(r"checkpoint-\d+", path.parent.name)
    folder = path.parent.parent if of_checkpoint else path.parent
    points = [(name, at, x) for at, row in rows for name, x in row if type(x) is float]
    yield Log(folder.as_posix(), [point for point in points if point[0] != "step"])


def _mlflow(path: Path, step: str | None) -> Iterator[Log]:
    """A run in a folder of MLflow's: ``metrics/NAME`` has lines "timestamp value step"."""
    folder, meta = path.parent, read_mapping(path, KEY)
    if "run_id" not in meta or not (folder / "metrics").is_dir():  # an experiment's, or a model's
        return
    log = Log(folder.as_posix(), settings=_scalars({"run_name": meta.get("run_name")}))
    if meta.get("lifecycle_stage") == "deleted":
        yield Log(log.name, notes=[f"left out: run {folder.name} is deleted"])
        return
    if meta.get("status") not in (3, "FINISHED"):
        log.notes.append(f"run {folder.name} has not finished (status {meta.get('status')})")
    for name, text in _texts(folder / "metrics"):
        try:
            rows = [line.split() for line in text.splitlines()]
            log.points += [(name, float(row[2]), float(row[1])) for row in rows]
        except (ValueError, IndexError):
            told = f"metrics/{name} has a line that is not 'timestamp value step'"
            raise UserError(f"{KEY}: {str(folder)!r}: {told}.") from None
    log.settings |= _texts(folder / "params")
    yield log


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    """The texts of the files in a folder, by name; none if it is empty, or not there."""
    if folder.is_dir() and any(folder.iterdir()):
        for file in _files(folder, "*"):
            text = regular_file(file, KEY, MOST_JSON).read_text(encoding="utf-8", errors="replace")
            yield file.relative_to(folder).as_posix(), text.strip()


def _tensorboard(path: Path, step: str | None) -> Iterator[Log]:
    """The scalars in an event file; its folder is the run."""
    try:
        from google.protobuf.message import DecodeError
        from tensorboardX.proto.event_pb2 import Event
    except ImportError:
        told = "event files need tensorboardX: pip install 'verdicts[tensorboard]'"
        raise UserError(f"{KEY}: {told}.") from None
    log = Log(path.parent.as_posix())
    try:
        for event in map(Event.FromString, _records(path)):
            numbers = ((value.tag, _scalar(value)) for value in event.summary.value)
            log.points += [(tag, float(event.step), x) for tag, x in numbers if x is not None]
    except (DecodeError, ValueError, OSError) as error:
        raise UserError(f"{KEY}: {str(path)!r} is no event file: {in_a_line(error)}.") from None
    yield log


def _records(path: Path) -> Iterator[bytes]:
    """The records of a TFRecord file: each has a length, and checksums that are not read.

    The last one may be cut off, where a run was killed. Raises a ValueError for a length above
    ``MOST_JSON``.
    """
    with path.open("rb") as file:
        while len(head := file.read(12)) == 12:
            length = int.from_bytes(head[:8], "little")
            if length > MOST_JSON:
                raise ValueError(f"a record of {length:,} bytes")
            record = file.read(length + 4)
            if len(record) == length + 4:
                yield record[:length]


def _scalar(value: Any) -> float | None:
    """The number of a value of a summary: PyTorch's, or TensorFlow's tensor of one float."""
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if value.tensor.dtype != 1:  # DT_FLOAT
        return None
    numbers = [*value.tensor.float_val, *np.frombuffer(value.tensor.tensor_content, "<f4")]
    return float(numbers[0]) if len(numbers) == 1 else None


#: The formats, by the names that ``verdicts import --as`` takes.
FORMATS = {
    "wandb": Format("*.csv", _wandb),
    "tensorboard": Format("*tfevents*", _tensorboard, last_counts=True),
    "mlflow": Format("meta.yaml", _mlflow, last_counts=True),
    "lightning": Format("metrics.csv", _of_columns, last_counts=True),
    "huggingface": Format("trainer_state.json", _huggingface, last_counts=True),
    "files": Format("*.csv", _of_columns),
}
