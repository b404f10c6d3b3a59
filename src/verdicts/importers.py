"""Logs that other tools wrote, as one tidy table: a reader for each format.

A reader makes of a file what runs logged: points, each a metric at a step. The last row of a run
has the last value of each metric, so that a claim about the end of training finds it. A run whose
last loss, error, accuracy, score, return or reward is no finite number has diverged.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from verdicts.files import read_mapping, regular_file
from verdicts.lazy import pd
from verdicts.registry import UserError, check, in_a_line, one_of, printable, shown, unknown
from verdicts.run_values import worst_of
from verdicts.table import MOST_BYTES, read_csv

KEY = "import"

#: The most bytes of a file with JSON or of an event, and the most notes that the preview has.
MOST_JSON, MOST_TOLD = 2**26, 5

#: Nothing was logged; NaN is a number that was.
MISSING = ("", "na", "null", "none")

#: Columns with the steps of a file, in the order of preference.
STEPS = ("step", "global_step", "_step", "iteration", "iterations", "timesteps", "epoch")

#: Columns of the table that no metric and no setting may have.
RESERVED = ("run", "step", "diverged")

POINT = ["run", "metric", "step", "value"]

#: A point of a run: a metric, its step, and its value.
Points = list[tuple[str, float, float]]


@dataclass
class Log:
    """What a run logged."""

    run: str
    points: Points = field(default_factory=list)
    settings: dict[str, object] = field(default_factory=dict)
    #: What was left out, and why.
    notes: list[str] = field(default_factory=list)


def import_logs(
    paths: Iterable[Path], format: str, pattern: str | None = None, step: str | None = None
) -> tuple[pd.DataFrame, str]:
    """The runs in files and folders: a table with a row for each run and step, and its preview.

    ``format`` is one of ``FORMATS``. ``pattern`` finds settings in the names of runs:
    ``{method}/seed{seed}.csv``, where ``*`` is any text. ``step`` is the column with steps. A
    setting that has the name of another column gets a prefix. Raises a UserError for what can't be
    read, if no run is found, and if none fits the pattern.
    """
    one_of("as", format, FORMATS)
    fits = _compiled(pattern).fullmatch
    names, read = FORMATS[format]
    files = [file for path in paths for file in _files(path, names)]
    if not files:
        raise UserError(f"{KEY}: no file there is called {names}.")
    other = [str(file) for file in files if format == "files" and not fits(file.as_posix())]
    logs = [log for file in files if str(file) not in other for log in read(file, step)]
    other += [log.run for log in logs if not fits(log.run)]
    logs = [log for log in logs if fits(log.run)]
    notes = [f"left out: {name} does not fit the pattern" for name in other]
    notes += [note for log in logs for note in log.notes]
    points = [(log.run, *point) for log in logs for point in log.points]
    if not points:
        told = f"no run fits the pattern, as {shown(other[0])}" if other else "no metric was found"
        raise UserError(f"{KEY}: {told}.")
    last_counts = format not in ("wandb", "files")
    table = _tidy(pd.DataFrame(points, columns=POINT), notes, last_counts=last_counts)
    settings = pd.DataFrame(
        [{**log.settings, **fit.groupdict()} for log in logs if (fit := fits(log.run))],
        index=[log.run for log in logs],
    )
    settings = settings[~settings.index.duplicated()].rename(
        columns=lambda name: f"setting_{name}" if name in (*table, *RESERVED) else name
    )
    table = table[["run"]].join(settings, on="run").join(table.drop(columns="run"))
    return table, _preview(table, list(dict.fromkeys(notes)))


def _tidy(points: pd.DataFrame, notes: list[str], *, last_counts: bool) -> pd.DataFrame:
    """A row for each run and step, and a column for each metric.

    ``last_counts``: of several values at a step, as resumed runs log them, the last one counts.
    """
    points = points.drop_duplicates()
    wrong = points[points["step"] % 1 != 0]
    if len(wrong):
        told = f"{wrong['step'].iloc[0]:g} of run {shown(wrong['run'].iloc[0])}"
        raise UserError(f"step: {told} is not a whole number; --step names the column with steps.")
    points["metric"] = points["metric"].replace({name: f"logged_{name}" for name in RESERVED})
    points["step"] = points["step"].astype("int64")
    key = ["run", "metric", "step"]
    again = points.duplicated(key, keep="last")
    for run, metric, step in points.loc[again, key].head(1).itertuples(index=False):
        told = f"run {shown(run)} has several values of {shown(metric)} at step {step}"
        if not last_counts:
            raise UserError(f"{KEY}: {told}; give each run its own file, or name.")
        notes.append(f"{told}, …: the last one counts")
    points = points[~again].sort_values("step", kind="stable")
    ends = points.drop_duplicates(["run", "metric"], keep="last")
    at_ends = ends.assign(step=ends["run"].map(points.groupby("run")["step"].max()))
    whole = pd.concat([points, at_ends]).drop_duplicates(key)
    table = whole.pivot(index=["run", "step"], columns="metric", values="value")
    table = table.reset_index().rename_axis(columns=None)
    lost = ends[~np.isfinite(ends["value"])]
    diverged = lost["run"][lost["metric"].map(worst_of).notna()]
    return table.assign(diverged=table["run"].isin(diverged)) if len(diverged) else table


def _preview(table: pd.DataFrame, notes: list[str]) -> str:
    """The numbers of runs, rows and notes; the ends of the first and last runs; the first notes."""
    ends = table.drop_duplicates("run", keep="last")
    counts = f"{len(ends)} runs, {len(table)} rows, {len(notes)} notes"
    runs = ends.to_string(index=False, max_rows=2 * MOST_TOLD, max_cols=2 * MOST_TOLD)
    told = [printable(f"note: {note}") for note in notes[:MOST_TOLD]]
    return "\n".join([counts, printable(runs, keep="\n"), *told])


def _compiled(pattern: str | None) -> re.Pattern[str]:
    """A regular expression of the names that end in the pattern, from a / on; None is any."""
    parts = re.split(r"(\{\w+\}|\*)", "*" if pattern is None else pattern)
    told = "close each brace: a setting is a name in braces, such as {seed}"
    check(not {"{", "}"} & {*"".join(parts[::2])}, "pattern", pattern, told)
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
    files = [file for file in path.rglob(names) if not file.is_dir() and not file.is_symlink()]
    return sorted(regular_file(file, KEY, MOST_BYTES) for file in files)


def _csv(path: Path) -> pd.DataFrame:
    """A CSV file, all fields as text."""
    try:
        return read_csv(path, dtype=str, keep_default_na=False).rename(columns=str)
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{KEY}: {str(path)!r} can't be read: {in_a_line(error)}.") from None


def _columns(
    table: pd.DataFrame, path: Path, step: str | None
) -> Iterator[tuple[str, Points, list[str]]]:
    """Each column of a CSV file with its points, none if it has text, and its distinct fields.

    The steps are in the column ``step``, or in one of ``STEPS``; the only row is at step 0.
    """
    if step is None:
        known = {str(name).strip().lower(): str(name) for name in reversed(list(table))}
        step = next((known[name] for name in STEPS if name in known), None)
    elif step not in table:
        raise unknown("step", step, map(str, table))
    if step is None and len(table) > 1:
        told = f"which column has the steps? --step names it, of {', '.join(map(str, table))}"
        raise UserError(f"{path.name}: {told}.")
    steps = pd.to_numeric(table[step], errors="coerce") if step else pd.Series(0, table.index)
    if steps.isna().any():
        raise UserError(f"{path.name}: {step}: some row has no number.")
    for name in (str(name) for name in table if name != step):
        fields = table[name].str.strip()
        fields = fields[~fields.str.lower().isin(MISSING)]
        numbers = pd.to_numeric(fields, errors="coerce").astype(float)
        texts = fields[numbers.isna() & (fields.str.lower() != "nan")]
        if len(texts) > 0 and texts.index[0] != fields.index[0]:
            told = f"{shown(texts.iloc[0])} in row {texts.index[0] + 1} is not a number"
            raise UserError(f"{path.name}: {name}: {told}.")
        rows = [] if len(texts) else zip(steps[numbers.index].astype(float), numbers, strict=True)
        yield name, [(name, at, value) for at, value in rows], list(fields.unique())


def _of_columns(path: Path, step: str | None) -> Iterator[Log]:
    """A run in a CSV file: a column of one text, and a seed, is a setting, and others metrics."""
    log = Log(path.as_posix())
    for name, points, fields in _columns(_csv(path), path, step):
        if (name == "seed" or not points) and len(fields) == 1:
            log.settings[name] = fields[0]
        elif fields and not points:
            log.notes.append(f"left out: the text in column {name!r}")
        else:
            log.points += points
    yield log


def _lightning(path: Path, step: str | None) -> Iterator[Log]:
    """The run of a ``metrics.csv``; the ``hparams.yaml`` beside it has more settings."""
    (log,) = _of_columns(path, step)
    log.run = path.parent.as_posix()
    more = path.with_name("hparams.yaml")
    if more.exists() and more.stat().st_size:
        try:
            values = read_mapping(more, KEY).items()
            log.settings |= {str(k): v for k, v in values if isinstance(v, str | int | float)}
        except UserError as error:  # of a Python object, for example
            log.notes.append(f"left out: {error}")
    yield log


def _wandb(path: Path, step: str | None) -> Iterator[Log]:
    """The runs of a W&B chart, exported as CSV: a column ``RUN - METRIC`` for each.

    The columns ``…__MIN`` and ``…__MAX``, and those of steps, are left out.
    """
    table = _csv(path)
    left_out = ("__MIN", "__MAX", " - _step")
    if not any(" - " in name and not name.endswith(left_out) for name in map(str, table)):
        told = "no column is RUN - METRIC; a table with a row for each run needs no import"
        raise UserError(f"{path.name}: {told}.")
    for name, points, fields in _columns(table, path, step or table.columns[0]):
        run, dash, metric = name.rpartition(" - ")
        if dash and not name.endswith(left_out):
            is_text = fields and not points
            notes = [f"left out: the text in column {name!r}"] if is_text else []
            if {f"{name}__MIN", f"{name}__MAX"} <= {*table} and (
                table[f"{name}__MIN"] != table[f"{name}__MAX"]
            ).any():
                notes.append(f"{name!r} is a mean of grouped runs: export the chart without groups")
            yield Log(run, [(metric, at, value) for _, at, value in points], notes=notes)


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
    log = Log(folder.as_posix())
    if meta.get("lifecycle_stage") == "deleted":
        yield Log(log.run, notes=[f"left out: run {folder.name} is deleted"])
        return
    for name, text in _texts(folder / "metrics"):
        try:
            rows = [line.split() for line in text.splitlines()]
            log.points += [(name, float(row[2]), float(row[1])) for row in rows]
        except (ValueError, IndexError):
            told = f"metrics/{name} has a line that is not 'timestamp value step'"
            raise UserError(f"{KEY}: {str(folder)!r}: {told}.") from None
    log.settings = {"run_name": str(meta.get("run_name", "")), **dict(_texts(folder / "params"))}
    yield log


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    """The texts of the files in a folder, by name; none if it is not there."""
    for file in _files(folder, "*") if folder.is_dir() else []:
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


#: The names of a format's files, and how one of them is read, by what ``--as`` takes.
FORMATS = {
    "wandb": ("*.csv", _wandb),
    "tensorboard": ("*tfevents*", _tensorboard),
    "mlflow": ("meta.yaml", _mlflow),
    "lightning": ("metrics.csv", _lightning),
    "huggingface": ("trainer_state.json", _huggingface),
    "files": ("*.csv", _of_columns),
}
