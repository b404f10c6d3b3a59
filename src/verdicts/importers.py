"""Import of logs that other tools wrote: a reader for each format, and one tidy table of all runs.

A reader gives what runs logged: points, which are values of metrics at steps. The table has a row
for each step at which a run logged anything. The last row of a run has the last value of each
metric, so that claims about the end of training find it. What is left out is reported, and links
are not followed.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from verdicts.files import content_of, read_mapping, readable, regular_file
from verdicts.lazy import Library, pd
from verdicts.registry import UserError, check, in_a_line, one_of, printable, shown, strange
from verdicts.run_values import worst_of
from verdicts.table import BOOLEANS, MOST_BYTES, check_roles, diverged_runs, read_csv

KEY = "import"

# What reads event files.
message = Library("google.protobuf.message")
events = Library("tensorboardX.proto.event_pb2")
writer = Library("tensorboardX.record_writer")

#: The most bytes of a file with JSON, and of a record of events; the most files in a folder, and
#: settings; the most notes that the preview has, and runs that a note names.
MOST_JSON, MOST_FILES, MOST_SETTINGS, MOST_TOLD = 2**26, 100_000, 10_000, 5

#: What stands in the field of a metric without a value: nothing, or what R writes for nothing.
EMPTY = ("", "NA")

#: What is logged as a metric, and is a setting of the run.
SETTINGS = ("seed", "diverged")

#: Columns with the steps of a file, in the order of preference. Case does not matter, and spaces,
#: underscores and slashes are alike.
STEPS = (
    *("step", "global step", "trainer global step", "steps", "total steps", "env steps"),
    *("timestep", "total timesteps", "time total timesteps", "timesteps total", "num timesteps"),
    *("timesteps", "frame", "total frames", "frames", "iteration", "time iterations"),
    *("iterations", "training iteration", "round", "server round", "rounds", "epoch", "epochs"),
)


@dataclass
class Log:
    """What a run logged."""

    run: str
    #: Points in the order in which they were logged: metrics, and their steps and values. None in
    #: place of a metric is a row without a value; in event files, it is a restart.
    metrics: list[str | None] = field(default_factory=list)
    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    #: Names, each after those of the settings that contain it, and values; of a name, the last.
    settings: list[tuple[tuple[str, ...], Any]] = field(default_factory=list)
    #: What was left out, and why.
    notes: list[str] = field(default_factory=list)

    def add(self, name: str | None, steps: Any, values: Any) -> None:
        """Add the values of a metric, at steps, or of a setting; a UserError for too many."""
        if name in SETTINGS:
            self.settings += [((name,), value) for value in values]
            return
        self.metrics += [name] * len(values)
        self.steps.extend(steps)
        self.values.extend(values)
        _check_size(8 * len(self.values))


def import_logs(
    paths: Iterable[Path], format: str, pattern: str | None = None, step: str | None = None
) -> tuple[pd.DataFrame, str]:
    """The runs in files and folders: a table with a row for each run and step, and its preview.

    ``format`` is one of ``FORMATS``. ``pattern`` finds settings in the names of runs:
    ``{method}/seed{seed}.csv``, where ``*`` is any text. ``step`` is the column with steps. A
    setting that has the name of another column gets a prefix. A file of MLflow, TensorBoard or
    Hugging Face that can't be read is left out and reported. Raises a UserError for a file of
    another format that can't be read, if no run is found or none fits the pattern, for a name that
    is nearly seed or diverged, and for too many values.
    """
    one_of("as", format, FORMATS)
    fits = _compiled(pattern).fullmatch
    names, read = FORMATS[format]
    left: list[str] = []
    files = sorted({file for path in paths for file in _files(path, names, left)})
    if not files:
        raise UserError(f"{KEY}: {'; '.join([f'no file there is called {names}', *left[:1]])}.")
    logs: list[Log] = []
    size = 0
    for file in files:
        unread = format == "files" and not fits(file.as_posix())
        try:
            new = [Log(file.as_posix())] if unread else [*read(file, step)]
        except UserError as error:
            if isinstance(error, TooLarge) or format in ("files", "lightning", "wandb"):
                raise
            left.append(f"left out: {str(error).removeprefix(f'{KEY}: ').rstrip('.')}")
            continue
        logs += new
        size += 8 * sum(len(log.values) for log in new)
        _check_size(size)
    named = {log.run: match.groupdict() for log in logs if (match := fits(log.run))}
    why = "does not fit the pattern" + "; {seed} is a whole number" * ("{seed}" in str(pattern))
    other = [f"left out: {log.run} {why}" for log in logs if log.run not in named]
    logs = [log for log in logs if log.run in named]
    left += [note for log in logs for note in log.notes]
    if not any(metric for log in logs for metric in log.metrics):
        found = [*left, f"no metric is in {str(files[0])!r}"] if logs or not other else other
        raise UserError(f"{KEY}: no run was found; {found[0]}.")
    notes: list[str] = []
    table = _tidy(logs, format, notes)
    metrics = [*table.columns[1:]]
    settings = _settings(logs, named, metrics)
    _check_size(settings.map(lambda x: len(str(x))).sum(axis=1).reindex(table.index).sum())
    table = settings.join(table, how="right").rename_axis("run").reset_index()
    check_roles(table, KEY)
    sets = settings.columns.difference([*SETTINGS, "run_name"])
    return table, _preview(table, metrics, sets, [*notes, *left, *other])


def _tidy(logs: list[Log], format: str, notes: list[str]) -> pd.DataFrame:
    """A row for each run, the index, and step, and a column for each metric."""
    cell, runs = ["run", "metric", "step"], np.array([log.run for log in logs], object)
    points = pd.DataFrame({
        "run": np.repeat(runs, [len(log.values) for log in logs]),
        "metric": [metric for log in logs for metric in log.metrics],
        "step": np.concatenate([log.steps for log in logs]),
        "value": np.concatenate([log.values for log in logs]),
    })  # fmt: skip
    whole = (points["step"] % 1 == 0) & (points["step"].abs() < 2.0**63)
    for run, _, step, _ in points[~whole].head(1).itertuples(index=False):
        reason = "it must be a whole number below 2^63; --step names the column with steps"
        check(False, f"{run}: step", step, reason)
    points["step"] = points["step"].astype("int64")
    if format == "tensorboard":
        points = _after_restarts(points, notes)
    rows = pd.MultiIndex.from_frame(points[["run", "step"]].drop_duplicates()).sort_values()
    logged = points[points["metric"].notna()]
    names = sorted(logged["metric"].unique())
    _check_size(8 * len(rows) * len(names))
    again = logged.drop_duplicates([*cell, "value"])
    for run, name, at, _ in again[again.duplicated(cell)].head(1).itertuples(index=False):
        reason = f"run {shown(run)} has several values of {shown(name)} at step {at}"
        if format in ("wandb", "files"):
            raise UserError(f"{KEY}: {reason}; give each run its own file, or name.")
        notes.append(f"{reason}, …: the last one counts")
    ends = logged.sort_values("step", kind="stable").drop_duplicates(["run", "metric"], keep="last")
    ends = ends.assign(step=ends["run"].map(points.groupby("run")["step"].max()))
    if format in ("files", "lightning"):  # empty, though another run has a value at this very step
        known = pd.MultiIndex.from_frame(logged[logged["value"].notna()][["metric", "step"]])
        ends = ends[~pd.MultiIndex.from_frame(ends[["metric", "step"]]).isin(known)]
    cells = pd.concat([ends, logged]).drop_duplicates(cell, keep="last")
    table = cells.pivot(index=["run", "step"], columns="metric", values="value").reindex(rows)
    return table.set_axis(_apart(names, "logged_", []), axis=1).reset_index("step")


def _after_restarts(points: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """The points that TensorBoard shows.

    A restart at a step drops all points from there on that came before. So does a point, those of
    its metric: https://github.com/tensorflow/tensorboard, event_accumulator.py and reservoir.rs.
    """
    later = points.drop_duplicates(keep="last")[::-1]
    restarts = later["step"].where(later["metric"].isna(), math.inf).groupby(later["run"]).cummin()
    of_metric = later.groupby(["run", "metric"])["step"]
    again = of_metric.cummin().groupby([later["run"], later["metric"]]).shift()
    logged = later[later["metric"].notna()]
    lost = (np.fmin(restarts, again) <= later["step"])[logged.index]
    for run, steps in logged[lost].groupby("run")["step"]:
        reason = f"run {shown(run)} went back to step {steps.min()}"
        notes.append(f"{reason}: {len(steps)} values from there on, logged before, are left out")
    return logged[~lost][::-1]


def _settings(logs: list[Log], named: Mapping[str, Any], metrics: list[str]) -> pd.DataFrame:
    """A row for each run, and a column for each setting.

    A setting in another has its own name, or, if several have it, a dotted one. What the pattern
    finds stands above what was logged. A run that says once that it diverged has.
    """
    uses = Counter(path[-1] for path in {path for log in logs for path, _ in log.settings})
    check(len(uses) <= MOST_SETTINGS, f"{KEY}: settings", len(uses), f"at most {MOST_SETTINGS:,}")
    said: dict[str, list[tuple[str, Any]]] = {log.run: [] for log in logs}
    for log in logs:
        for path, value in log.settings:
            name = path[-1] if uses[path[-1]] == 1 else ".".join(path)
            if name not in metrics or str(value).lower() not in ("na", "nan"):
                said[log.run].append((name, value))
    for run, values in said.items():
        seeds = [*dict.fromkeys(str(value) for name, value in values if name == "seed")]
        right = len(seeds) < 2 or "seed" in named[run]
        check(right, f"{run}: seeds", seeds[:2], "give each seed a run of its own")
        values += named[run].items()
        words = [str(value).strip().lower() for name, value in values if name == "diverged"]
        for word in words:
            check(word in BOOLEANS, f"{run}: diverged", word, "it must be true or false")
        if words:
            values.append(("diverged", any(BOOLEANS[word] for word in words)))
    table = pd.DataFrame([*map(dict, said.values())], index=[*said])
    if "diverged" in table:
        table["diverged"] = table["diverged"].eq(True)
    return table.set_axis(_apart(table.columns, "setting_", metrics), axis=1)


def _apart(names: Iterable[object], prefix: str, taken: Iterable[str]) -> list[str]:
    """The names, with a prefix where one is taken or, but for its spelling, the run's or step's."""
    known, apart = {*taken}, []
    for name in map(str, names):
        while name in known or re.sub(r"[\s_]", "", name).lower() in ("run", "step"):
            name = f"{prefix}{name}"
        known.add(name)
        apart.append(name)
    return apart


class TooLarge(UserError):
    """More values than a table may have."""


def _check_size(size: float) -> None:
    if size > MOST_BYTES:
        told = f"bytes of the table: {int(size)} is not allowed; at most {MOST_BYTES:,}."
        raise TooLarge(f"{KEY}: {told}")


def _preview(table: pd.DataFrame, metrics: list[str], sets: pd.Index, notes: list[str]) -> str:
    """The numbers of runs, rows and notes; the ends of the first and last runs; the first notes.

    Which runs have diverged, and which end at other steps than most runs with equal ``sets``, comes
    before other ``notes``.
    """
    known = [name for name in metrics if worst_of(name) is not None]
    lost = diverged_runs(table, known)
    last = table.drop_duplicates("run", keep="last").set_index("run")
    bare = last[known].isna() & (table.groupby("run")[known].count() > 0)
    alike = pd.Series([*map(tuple, last[sets].astype(str).to_numpy())], last.index)
    at = last["step"]
    most = at.groupby(alike).transform(lambda steps: steps.mode().max())
    ends = [f"{shown(run[-70:])} at {at[run]}, not {most[run]}" for run in at.index[at != most]]
    noted = {
        f"of {len(last)} runs have diverged": [*map(shown, last.index[lost])],
        "runs have no number at their end": [*map(shown, last.index[bare.any(axis=1) & ~lost])],
        f"of {len(last)} runs end at another step than most": ends,
    }
    of_runs = [
        f"{len(runs)} {what}: {'; '.join(runs[:MOST_TOLD])}{'; …' * (len(runs) > MOST_TOLD)}"
        for what, runs in noted.items() if runs
    ]  # fmt: skip
    notes, size = [*dict.fromkeys([*of_runs, *notes])], 2 * MOST_TOLD
    rows = last.reset_index().to_string(index=False, max_rows=size, max_cols=size, max_colwidth=80)
    counts = f"{len(last)} runs, {len(table)} rows, {len(notes)} notes"
    first = [printable(f"note: {note}") for note in notes[:MOST_TOLD]]
    return "\n".join([counts, printable(rows, keep="\n"), *first])


def _compiled(pattern: str | None) -> re.Pattern[str]:
    """A regular expression of the names that end in the pattern, from a / on; None is any.

    A seed is a whole number: ``A_b_0`` is ``{method}_{seed}`` with the method ``A_b``.
    """
    escaped = re.escape("*" if pattern is None else pattern).replace(r"\*", ".*")
    named = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+?)", escaped)
    named = named.replace("<seed>[^/]+?", "<seed>-?[0-9]+")
    reason = "close each brace: a setting is a name in braces, such as {seed}"
    check(not re.search(r"\\[{}]", named), "pattern", pattern, reason)
    with strange(f"pattern: {shown(pattern)} is not allowed"):  # a name twice, for example
        return re.compile(f"(?:.*/)?{named}", re.DOTALL)


def _files(path: Path, names: str, notes: list[str]) -> list[Path]:
    """The file at a path, or those in the folder and its folders whose names fit; no links."""
    if not path.is_dir():
        return [regular_file(path, KEY, MOST_BYTES)]
    found: list[Path] = []
    for file in path.rglob("*"):
        is_folder = file.is_dir()
        if file.is_symlink() and (is_folder or file.match(names)):
            notes.append(f"left out: {str(file)!r} is a link")
        elif not is_folder and file.match(names):
            found.append(file)
            key, most = f"{KEY}: {path}: files", f"at most {MOST_FILES:,}"
            check(len(found) <= MOST_FILES, key, len(found), most)
    return sorted(regular_file(file, KEY, MOST_BYTES) for file in found)


def _number(text: str) -> float:
    """The number that a text is, NaN for ``EMPTY``; an OverflowError if it is too large."""
    number = math.nan if text in EMPTY else float(text)
    if math.isinf(number) and "n" not in text.lower():
        raise OverflowError("too large for a number")
    return number


def _csv(path: Path, notes: list[str] | None = None) -> Any:
    """The columns of a CSV file, all fields as text, without spaces around them."""
    with readable(path, KEY):
        table = read_csv(path, notes, dtype=str)
    return table.apply(lambda fields: fields.str.strip())


def _steps(table: Any, path: Path, step: str | None) -> np.ndarray:
    """The steps of the rows, from the column ``step``, or one of ``STEPS``, which is taken out.

    There may be none in a table of at most one row: it is at step 0.
    """
    if step is None:
        plain = [re.sub(r"[\s_/]+", " ", name).strip().lower() for name in table]
        known = dict(zip([*plain[::-1], *table], [*table.columns[::-1], *table], strict=True))
        step = next((known[name] for name in STEPS if name in known), None)
    else:
        one_of("step", step, table)
    if step is None and len(table) > 1:
        raise UserError(f"{path.name}: --step names the column with steps, of {', '.join(table)}.")
    numbers = _numbers(table.pop(step), path.name) if step else np.zeros(len(table))
    if numbers is None or np.isnan(numbers).any():
        raise UserError(f"{path.name}: {step}: some row has no number.")
    return numbers


def _numbers(fields: pd.Series, file: str) -> np.ndarray | None:
    """The numbers in a column, NaN in an empty field; None if it has text from its first field on.

    Raises a UserError for text below a number, and for a number that is too large.
    """
    numbers: list[float] = []
    try:
        for text in fields.to_list():
            numbers.append(_number(text))
    except (ValueError, OverflowError) as error:
        row, is_text = len(numbers), isinstance(error, ValueError)
        if is_text and fields[:row].isin(EMPTY).all():
            return None
        reason = "is not a number" if is_text else "is too large for a number"
        reason = f"{shown(fields[row])} in row {row + 1} {reason}"
        raise UserError(f"{file}: {fields.name}: {reason}.") from None
    return np.array(numbers)


def _add(log: Log, name: str, fields: pd.Series, steps: np.ndarray, file: str, own: bool) -> None:
    """Add a column of a CSV file to a log: a metric, or a setting, which is a seed or one text.

    The file is the run's ``own``, or has several runs. In its own, NaN alone is a word (the name of
    an attack, for example), not a metric of a run that diverged; and a metric whose last fields are
    empty, more of them than before its last value, has no value at the end.
    """
    texts, given = fields[fields != ""].unique(), ~fields.isin(EMPTY)
    if name in SETTINGS:
        log.add(name, [], texts)
    elif (numbers := _numbers(fields, file)) is None and len(texts) > 1:
        log.notes.append(f"left out: the text in column {fields.name!r}")
    elif numbers is None or (own and np.isnan(numbers).all()):
        log.settings.append(((name,), texts[0]))
    else:
        log.add(name, steps[given], numbers[given])
        distinct = np.unique(steps)
        at = np.flatnonzero(np.isin(distinct, steps[given]))
        if own and len(distinct) - at[-1] > np.diff(at, prepend=-1)[-1]:
            log.add(name, distinct[-1:], [math.nan])


def _of_columns(path: Path, step: str | None) -> Iterator[Log]:
    """A run in a CSV file."""
    log = Log(path.as_posix())
    table = _csv(path, log.notes)
    steps = _steps(table, path, step)
    if not len(steps):
        log.notes.append(f"left out: {str(path)!r} has a header and no row")
    check_roles([name for name in table if [name] == _apart([name], "-", [])], path.name)
    for name in table.columns[(table != "").any()]:
        _add(log, name, table[name], steps, path.name, own=True)
    log.add(None, steps, [math.nan] * len(steps))
    yield log


def _lightning(path: Path, step: str | None) -> Iterator[Log]:
    """The run of a ``metrics.csv``; the ``hparams.yaml`` beside it has more settings."""
    (log,) = _of_columns(path, step)
    log.run = path.parent.as_posix()
    more = path.with_name("hparams.yaml")
    if more.is_symlink():
        log.notes.append(f"left out: {str(more)!r} is a link")
    elif more.exists() and more.stat().st_size:
        try:
            for names, value in _leaves(read_mapping(more, KEY)):
                if isinstance(value, str | int | float):
                    log.settings.append((names, value))
                elif value is not None:
                    log.notes.append(f"left out: {'.'.join(names)!r} of {str(more)!r}")
        except UserError as error:  # of a Python object, for example
            log.notes.append(f"left out: {error}")
    yield log


def _leaves(values: Mapping[Any, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    """The values in a mapping and its mappings, each with the names that lead to it."""
    for name, value in values.items():
        inner = _leaves(value) if isinstance(value, Mapping) else [((), value)]
        yield from (((str(name), *names), leaf) for names, leaf in inner)


def _wandb(path: Path, step: str | None) -> Iterator[Log]:
    """The runs of a W&B chart, exported as CSV: a column ``RUN - METRIC`` for each.

    The columns ``…__MIN`` and ``…__MAX``, and those of steps, are left out. An empty field is a
    step of other runs.
    """
    table = _csv(path)
    steps = _steps(table, path, step or table.columns[0])
    left_out = ("__MIN", "__MAX", " - _step")
    columns = [name for name in table if " - " in name and not name.endswith(left_out)]
    reason = "one is RUN - METRIC in a chart; a table with a row for each run needs no import"
    check(columns, f"{path.name}: columns", [*table], reason)
    for name in columns:
        run, _, metric = name.rpartition(" - ")
        log = Log(run)
        _add(log, metric, table[name], steps, path.name, own=False)
        low, high = (table.get(f"{name}__{end}") for end in ("MIN", "MAX"))
        if low is not None and not low.equals(high):
            log.notes.append(f"{name!r} is a mean of grouped runs: export a chart without groups")
        yield log


def _huggingface(path: Path, step: str | None) -> Iterator[Log]:
    """The run of a ``trainer_state.json``; its checkpoints' files are of the same run."""
    log = Log(re.sub(r"(^|/)checkpoint-\d+$", "", path.parent.as_posix()) or ".")
    with strange(f"{KEY}: {str(path)!r} is no trainer's state"):
        text = content_of(path, KEY, MOST_JSON).decode()
        for row in json.loads(text, parse_int=_number, parse_float=_number)["log_history"]:
            at = [row.pop("step") + 0.0]
            log.add(None, at, [math.nan])
            for name, value in row.items():
                if name in SETTINGS or isinstance(value, float | bool | None):
                    log.add(name, at, [math.nan if value is None else value])
    yield log


def _mlflow(path: Path, step: str | None) -> Iterator[Log]:
    """A run in a folder of MLflow's: ``metrics/NAME`` has lines "timestamp value step".

    Old versions wrote no step: it is 0. A last line that was cut off is left out.
    """
    folder, meta = path.parent, read_mapping(path, KEY)
    if not {"run_id", "run_uuid"} & {*meta}:  # an experiment's, or a model's
        return
    log = Log(folder.as_posix())
    if meta.get("lifecycle_stage") == "deleted":
        raise UserError(f"{KEY}: run {folder.name} is deleted.")
    for name, text in _texts(folder / "metrics", log.notes):
        lines, fields = text.splitlines(), 0
        for place, line in enumerate(lines, 1):
            try:
                time, value, *rest = line.split()
                at, number = int(*rest), _number(value)
                right = len(rest) >= fields and abs(at) < 2**63 and bool(int(time) or True)
            except (ValueError, TypeError, OverflowError):
                right = False
            if right:
                log.add(name, [at], [number])
                fields = len(rest)
                continue
            reason = "is not 'timestamp value step' with a whole step below 2^63"
            reason = f"{shown(line)} in {str(folder / 'metrics' / name)!r} {reason}"
            if place < len(lines) or text.endswith("\n"):
                raise UserError(f"{KEY}: {reason}.")
            log.notes.append(f"left out: {reason}")
    if not log.metrics:
        log.notes.append(f"left out: run {folder.name} has no metric")
    log.settings.append((("run_name",), str(meta.get("run_name") or "")))
    params = _texts(folder / "params", log.notes)
    log.settings += [((name,), text.strip()) for name, text in params]
    yield log


def _texts(folder: Path, notes: list[str]) -> Iterator[tuple[str, str]]:
    """The texts of the files in a folder, by name; none if it is not there, or a link."""
    if folder.is_symlink():
        notes.append(f"left out: {str(folder)!r} is a link")
    elif folder.is_dir():
        for file in _files(folder, "*", notes):
            text = content_of(file, KEY, MOST_JSON).decode(errors="replace")
            yield file.relative_to(folder).as_posix(), text


def _tensorboard(path: Path, step: str | None) -> Iterator[Log]:
    """The scalars in an event file, and its restarts; its folder is the run."""
    log = Log(path.parent.as_posix())
    with readable(path, KEY):
        parse = events.Event.FromString
    try:
        for event in map(parse, _records(path)):
            if event.session_log.status == events.SessionLog.START:
                log.add(None, [event.step], [math.nan])
            for value in event.summary.value:
                for number in _scalars(value):
                    log.add(value.tag, [event.step], [number])
    except (message.DecodeError, ValueError, OSError) as error:
        reason = f"the event file {str(path)!r} is damaged, and read up to there"
        log.notes.append(f"{reason}: {in_a_line(error)}")
    yield log


def _records(path: Path) -> Iterator[bytes]:
    """The records of a TFRecord file: each has a length and its checksum, and bytes and theirs.

    The last one may be cut off, where a run was killed. Raises a ValueError for a wrong checksum,
    and for a length above ``MOST_JSON``.
    """

    def checked(content: bytes) -> bytes:
        data = content[:-4]
        if content[-4:] != writer.masked_crc32c(data).to_bytes(4, "little"):
            raise ValueError(f"a wrong checksum before byte {file.tell():,}")
        return data

    with path.open("rb") as file:
        while len(head := file.read(12)) == 12:
            length = int.from_bytes(checked(head), "little")
            if length > MOST_JSON:
                raise ValueError(f"a record of {length:,} bytes")
            record = file.read(length + 4)
            if len(record) == length + 4:
                yield checked(record)


def _scalars(value: Any) -> list[float]:
    """The number of a value of a summary: PyTorch's, or TensorFlow's tensor of one float."""
    if value.HasField("simple_value"):
        return [value.simple_value]
    content = value.tensor.tensor_content if value.tensor.dtype == 1 else b""  # DT_FLOAT
    numbers = [*value.tensor.float_val, *np.frombuffer(content, "<f4")]
    return numbers if len(numbers) == 1 else []


#: The names of a format's files, and how one of them is read, by what ``--as`` takes.
FORMATS = {
    "wandb": ("*.csv", _wandb),
    "tensorboard": ("*tfevents*", _tensorboard),
    "mlflow": ("meta.yaml", _mlflow),
    "lightning": ("metrics.csv", _lightning),
    "huggingface": ("trainer_state.json", _huggingface),
    "files": ("*.csv", _of_columns),
}
