"""``compare``: methods on one problem, each tuned on held-out samples, judged over new seeds."""

from __future__ import annotations

import math
import re
import signal
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

import verdicts
from ngo.common.devices import torch_device
from ngo.common.fields import checked, unknown_field
from ngo.common.files import check_writable
from ngo.common.registries import METHODS
from ngo.common.seeding import numpy_stream
from ngo.native.threads import cores as cores_here
from ngo.training.checkpoint import Signals
from ngo.training.fit import COUNT, Interrupted, allowed_in, check_fit, fit, no_argument
from ngo.training.fit_inputs import Make, Pair, by_workers, read_once
from ngo.training.global_state import ALONE
from ngo.training.learning_problem import Loss
from ngo.training.spec import FIELDS
from verdicts.registry import UserError, check, one_of, shown, unknown
from verdicts.report import Result
from verdicts.run_values import highest_is_best
from verdicts.statistics import ABSENT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The values of a grid's fields, by name.
Point = tuple[tuple[str, Any], ...]

#: What a run gives back: its metrics, and its warnings.
Answer = tuple[pd.DataFrame, list[str]]


@dataclass(frozen=True)
class Job:
    """A run of a comparison."""

    case: str
    point: Point
    seed: int
    tuning: bool

    @property
    def name(self) -> str:
        """A name of its own among the runs of a comparison, which a folder may have."""
        values = [*(f"{name}={value}" for name, value in self.point), f"seed{self.seed}"]
        return quote("-".join([*["tuning"] * self.tuning, self.case, *values]), safe="=")


@dataclass(frozen=True, repr=False)
class Compared(Result):
    """Methods compared: ``print`` of it ranks them, with intervals, and says what was chosen."""

    #: A row for each evaluation of each run on new seeds: the method's name in ``case``, and the
    #: columns of ``Fit.metrics``.
    runs: pd.DataFrame
    #: The same of the runs that tuned, whose test samples are those held out.
    tuning: pd.DataFrame
    #: The column that is compared, at the end of runs, and which end of it is best.
    metric: str
    best: str
    #: By method: the chosen value of each field of its grid.
    chosen: Mapping[str, Mapping[str, Any]]
    #: Sentences: what was chosen of which values, and which is at the end of them.
    told: Sequence[str] = ()

    @cached_property
    def judged(self) -> Any:
        """The ranking by the judge: ``verdicts.compare`` of the runs, paired by seed."""
        if self.runs.empty:
            raise UserError("compare: no run on new seeds has finished.")
        rows = self.runs[["seed", "step", self.metric, "diverged"]]
        rows = rows.assign(method=self.runs["case"], run=self.runs["case"] + self.runs["run"])
        return verdicts.compare(rows, "method", self.metric, best=self.best)  # type: ignore

    @property
    def frame(self) -> pd.DataFrame:  # type: ignore[override]
        """The judge's columns for each method, the best first, and the chosen values."""
        names = dict.fromkeys(name for values in self.chosen.values() for name in values)
        values = {x: [self.chosen[case].get(x) for case in self.judged.names] for x in names}
        return self.judged.frame.assign(**values)

    def shown(self) -> pd.DataFrame:
        """The ranking and the chosen values as a table of strings."""
        values = self.frame.drop(columns=self.judged.frame.columns).astype(object)
        return self.judged.shown().join(values.where(values.notna(), ABSENT).map(_word))

    def __str__(self) -> str:
        return "\n".join([str(self.judged), *self.told])

    def draw(self, figure: Figure) -> None:
        """The metric by epoch, mean and range over seeds; beside it, means with intervals."""
        self.judged.draw(figure)
        figure.set_size_inches(9, max(figure.get_figheight(), 2.6))
        grid = figure.add_gridspec(1, 2)
        figure.axes[0].set_subplotspec(grid[1])
        axes = figure.add_subplot(grid[0])
        for case in self.judged.names:
            runs = self.runs[self.runs["case"] == case]
            by_number = runs.groupby(runs.groupby("seed").cumcount())
            x, y = by_number["epoch"].mean(), by_number[self.metric]
            axes.fill_between(x, y.min(), y.max(), alpha=0.2)
            axes.plot(x, y.mean(), label=case)
        axes.set(xlabel="epoch (bands: range over seeds)", ylabel=self.metric)
        axes.legend(frameon=False)


def compare(
    module: torch.nn.Module | Make,
    train: Pair | Sequence[Pair],
    test: Pair | Sequence[Pair],
    *,
    methods: Sequence[str] | Mapping[str, str | Mapping[str, Any]],
    grid: Mapping[str, Any] | None = None,
    seeds: int | Iterable[int] = 3,
    holdout: float | Pair | Sequence[Pair] = 0.1,
    metric: str | None = None,
    best: str | None = None,
    loss: Loss | None = None,
    score: Any = None,
    out: str | Path | None = None,
    device: str = "cpu",
    cores: int | None = None,
    progress: bool = True,
    **setting: Any,
) -> Compared:
    """Compare methods fairly: tune each on held-out samples, then judge it over new seeds.

    ``module``, ``train``, ``test``, ``loss``, ``score``, ``device``
        As for ``fit``. Data sets of torch are read once, for all runs.
    ``methods``
        Two names or more: ``["gossip", "ngo"]``. Or fields by a name of your own:
        ``{"NGO, p = 0.9": {"method": "ngo", "p": 0.9}, "D²": "d2"}``.
    ``grid``
        The values to try of some fields, numbers or names, in all combinations:
        ``{"gamma": [0.5, 1, 2]}``. Or such a grid for each of the names in ``methods``. Without
        it, nothing is tuned.
    ``seeds``
        How many, for seeds from 1, or which: those of the runs that are compared. Runs that tune
        have seed 0, or the smallest that is none of these.
    ``holdout``
        The share of the training samples (of each worker, where its samples are given) that runs
        that tune are tested on, and not trained on; or a pair (inputs, targets) for it, or a list
        with one for each worker. The runs that are compared train on all of ``train``.
    ``metric``, ``best``
        The column that decides, at the end of runs: by default ``workers_accuracy_mean``, or
        ``workers_loss_mean`` where there is no accuracy. ``best`` is ``highest`` or ``lowest``,
        where the name does not say it. A diverged run counts as the worst.
    ``out``
        A folder for checkpoints, one in it for each run: the same call resumes there.
    ``cores``
        How many runs take place side by side, in processes with one thread each: by default one
        for each core. On a GPU, and on macOS, runs take place one after another.
    ``progress``
        Whether to show a bar for all runs on standard error.
    ``setting``
        The other fields of runs, as for ``fit``. A field that a method does not read, here or in
        ``grid``, is left out for this method.

    Results are those of a loop over ``fit``. A value that was chosen at the end of its grid is told
    by a RuntimeWarning: a better one may lie beyond. Ctrl-C raises Interrupted, whose ``run`` has
    the finished runs; with ``out``, the same call goes on.

    Raises a UserError with a message of one line for an argument that is not allowed.
    """
    folder = None if out is None else check_writable(out, folder=True)
    cases, grids = _cases(methods, setting, grid or {})
    if isinstance(seeds, int | float | str):
        seeds = range(1, 1 + checked("seeds", seeds, COUNT))
    check(new := [*dict.fromkeys(seeds)], "seeds", seeds, "give one or more")
    first = next(seed for seed in range(len(new) + 1) if seed not in new)
    if best is not None or metric is not None:
        best = one_of("best", _best(metric, best), ("highest", "lowest"))
    count = checked("cores", cores_here() if cores is None else cores, COUNT)
    if torch_device(device) != "cpu" or sys.platform != "linux" or current_process().daemon:
        count = 1  # no process can be forked
    train, test = read_once("train", train), read_once("test", test)
    given = not isinstance(holdout, int | float | str)
    held = read_once("holdout", holdout) if given else holdout

    def call(function: Callable[..., Any], job: Job, **how: Any) -> Any:
        fields = {**cases[job.case], **dict(job.point), "seed": job.seed}
        data = _held_out(train, test, fields, held) if job.tuning else (train, test)
        return function(module, *data, loss=loss, score=score, **fields, **how)

    def work(job: Job) -> Answer:
        how = {"out": folder and folder / job.name, "device": device, "progress": False}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = call(fit, job, **how, threads=1 if count > 1 else None)
        return run.metrics, [f"{job.case}, seed {job.seed}: {each.message}" for each in caught]

    def judged(points: Mapping[str, Point]) -> list[Job]:
        return [Job(case, point, seed, False) for case, point in points.items() for seed in new]

    tuning = [Job(x, point, first, True) for x, of in grids.items() if of[1:] for point in of]
    jobs = [*tuning, *judged({case: of[0] for case, of in grids.items()})]
    owned = given or by_workers(train) or not isinstance(setting.get("partition", ""), str)
    if tuning and (metric or "").startswith("own_") and not owned:
        fault = "is of workers' own samples, and those held out have no owner"
        raise UserError(f"metric: {metric!r} {fault}; give train or holdout as a list of workers'.")
    for job in jobs:
        call(check_fit, job)
    done: dict[Job, pd.DataFrame] = {}
    chosen: dict[str, Point] = {}
    told: list[str] = []

    def result() -> Compared:
        found = ([done[x] for x in jobs if x in done] for jobs in (judged(chosen), tuning))
        runs, tried = (pd.concat(x or [pd.DataFrame()], ignore_index=True) for x in found)
        values = {case: dict(point) for case, point in chosen.items()}
        return Compared(runs, tried, metric or "", best or "", values, told)

    bar = tqdm(total=len(jobs), unit=" runs", leave=False, disable=not progress)

    def train_all(jobs: Sequence[Job]) -> None:
        nonlocal metric, best
        with closing(_results(jobs, work, count)) as results:
            for job, (table, lines) in results:
                metric = _metric(metric, table)
                best = _best(metric, best)
                done[job] = table.assign(case=job.case)
                bar.update()
                for line in [] if job.tuning else lines:
                    warnings.warn(line, RuntimeWarning, stacklevel=3)

    try:
        with bar:
            train_all(tuning)
            for case, of in grids.items():
                ends = {point: done[Job(case, point, first, True)] for point in of if of[1:]}
                chosen[case] = max(ends, key=lambda p: _value(ends[p], metric, best), default=of[0])
                told += _told(case, chosen[case], of)
            train_all(judged(chosen))
    except KeyboardInterrupt:
        line = f"compare: interrupted after {len(done)} of {len(jobs)} runs; .run has them"
        raise Interrupted(result(), line) from None
    for line in [line for line in told if ENDS in line]:
        warnings.warn(f"compare: {line}", RuntimeWarning, stacklevel=2)
    return result()


def _cases(
    methods: Any, setting: Mapping[str, Any], grid: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, list[Point]]]:
    """The fields of each method by its name in the comparison, and the points of its grid.

    Of the fields of all, a method has those that it reads, and those that none reads: ``fit``
    refuses these. Raises a one-line UserError.
    """
    given = dict.fromkeys(methods) if isinstance(methods, list | tuple) else methods
    if not isinstance(given, Mapping) or len(given) < 2:
        raise UserError(f"methods: {shown(methods)} is no list of two names or more, or of fields.")
    for name in {"method", "seed", "holdout", "on_evaluation", "on_step"} & {*setting, *grid}:
        raise UserError(f"{name}: it is no field that methods or a grid of compare may have.")
    for name in {*setting} - {*allowed_in(compare)}:
        raise no_argument(compare, name)
    apart = any(isinstance(of, Mapping) for of in grid.values())
    for case in grid if apart else ():
        one_of("grid", case, given)
    cases, entries = {}, {}
    for case, of in given.items():
        own = {"method": case, **of} if isinstance(of, Mapping) else {"method": of or case}
        entries[case] = METHODS[checked(f"methods, {case}", own["method"], FIELDS["method"])]
        cases[case] = own

    def of_case(case: str, shared: Mapping[str, Any]) -> dict[str, Any]:
        read = {x for x in shared if any(_reads(entry, x) for entry in entries.values())}
        return {x: y for x, y in shared.items() if x not in read or _reads(entries[case], x)}

    points = {}
    for case, own in cases.items():
        values = grid.get(case, {}) if apart else of_case(case, grid)
        pairs = [[(x, y) for y in _values(x, of)] for x, of in values.items() if x not in own]
        points[case] = [*product(*pairs)]
    return {case: of_case(case, setting) | own for case, own in cases.items()}, points


def _reads(entry: Any, name: str) -> bool:
    """Whether a method reads a field: not one that it fixes, and no graph's without a graph."""
    owners = FIELDS[name].owners if name in FIELDS else ()
    needed = {"method": name, "topology": "topology"}
    read = all(x in entry.fields for owner, x in needed.items() if owner in owners)
    return read and name not in entry.fixed


def _values(name: str, given: Any) -> list[Any]:
    """The values of a field in a grid; a UserError for what is no list of numbers or names."""
    if name not in FIELDS:
        raise unknown_field("grid", name, FIELDS)
    values = given.tolist() if isinstance(given, np.ndarray) else given
    right = isinstance(values, list | tuple | range) and len(values)
    check(right, f"grid, {name}", given, "it must be a list of numbers or names")
    return [*dict.fromkeys(checked(f"grid, {name}", value, FIELDS[name]) for value in values)]


def _held_out(train: Any, test: Any, fields: dict[str, Any], holdout: Any) -> tuple[Any, Any]:
    """Training and test samples of a run that tunes; a list of indices leaves its ``fields``.

    If each worker has test samples of its own, it has them of those held out, too.
    """
    if isinstance(holdout, tuple | list):
        return train, holdout
    share, stream = checked("holdout", holdout, FIELDS["holdout"]), numpy_stream(0, "holdout")
    if not isinstance(fields.get("partition", ""), str):
        train = [tuple(x[np.asarray(part)] for x in train) for part in fields.pop("partition")]
    kept, held = [], []
    for pair in train if isinstance(train, list) else [train]:
        order = stream.permutation(len(pair[0]))
        first, rest = np.split(order, [round(share * len(order))])
        held.append(tuple(x[np.sort(first)] for x in pair))
        kept.append(tuple(x[np.sort(rest)] for x in pair))
    tested = tuple(torch.cat(x) for x in zip(*held, strict=True))
    if not len(tested[0]):
        raise UserError(f"holdout: {share:g} of the training samples are none; give more.")
    whole = not isinstance(train, list)
    return kept[0] if whole else kept, tested if whole or not by_workers(test) else held


def _metric(metric: str | None, table: pd.DataFrame) -> str:
    """The column that decides, which the table must have; by default the workers' mean."""
    accurate = table["consensus_accuracy"].notna().any()
    metric = metric or f"workers_{'accuracy' if accurate else 'loss'}_mean"
    if metric not in table:
        raise unknown("metric", metric, [str(x) for x in table if x not in (*FIELDS, "run")])
    return metric


def _best(metric: str | None, best: str | None) -> str:
    """``highest`` or ``lowest``; by default by the name of the metric."""
    kind = re.sub("^(consensus|own|workers)_(?!.*_std$)|_(mean|min|max|p10)$", "", metric or "")
    return best or ("highest" if highest_is_best({"last": kind}) else "lowest")


def _value(table: pd.DataFrame, metric: Any, best: str | None) -> float:
    """How good a run ended: more is better."""
    last = table.iloc[-1]
    value = float(last[metric]) * (1 if best == "highest" else -1)
    return -math.inf if last["diverged"] or math.isnan(value) else value


#: What is said of a value at an end of its grid.
ENDS = "is at an end of its grid; a better value may lie beyond"


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _told(case: str, point: Point, points: Sequence[Point]) -> list[str]:
    """What was chosen of which values, and which of them is at an end that can be passed."""
    lines = []
    for k, (name, value) in enumerate(point):
        tried, field = [*dict.fromkeys(each[k][1] for each in points)], FIELDS[name]
        if not tried[1:]:
            continue
        told = f"{case}: {name} = {_word(value)}, of {', '.join(map(_word, tried))}"
        if not isinstance(value, str) and value in (low := min(tried), max(tried)):
            step = 1 if field.kind is int else math.ulp(value or 1)
            further = value - step if value == low else value + step
            told += f"; it {ENDS}" * (field.range is None or further in field.range)
        lines.append(f"{told}.")
    return lines


def _results(
    jobs: Sequence[Job], work: Callable[[Job], Answer], count: int
) -> Generator[tuple[Job, Answer]]:
    """Each job with its answer, as they end: ``count`` at a time, each in a process of its own.

    A process is forked, so that ``work`` may be any function. Those that are left are ended by
    SIGTERM, after which a run writes its checkpoint.
    """
    if count == 1:
        yield from ((job, work(job)) for job in jobs)
        return
    context, waiting, running = get_context("fork"), deque(jobs), dict[Any, tuple[Job, Any]]()
    try:
        while waiting or running:
            while waiting and len(running) < count:
                here, there = context.Pipe(duplex=False)
                given = work, (job := waiting.popleft()), there
                process = context.Process(target=_answer, args=given, daemon=True)
                pressed = Signals(numbers=[signal.SIGINT])  # a fork's callbacks would lose it
                with ALONE, tqdm.get_lock(), pressed:  # the child could wait for a lock
                    process.start()
                if pressed.asked:
                    signal.raise_signal(pressed.asked)
                there.close()
                running[here] = job, process
            pipe: Any
            for pipe in wait([*running]):
                job, process = running.pop(pipe)
                try:
                    answer = pipe.recv()
                except EOFError:
                    answer = UserError(f"compare: the system ended {job.name!r}; try cores=1.")
                process.join()
                if isinstance(answer, Exception):
                    raise answer
                yield job, answer
    finally:
        for end in ("terminate", "join"):
            for _, process in running.values():
                getattr(process, end)()


def _answer(work: Callable[[Job], Answer], job: Job, pipe: Connection) -> None:
    """Do a job in a process of its own; Ctrl-C is the parent's."""
    torch.set_num_threads(1)  # OpenMP's others have not been forked
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        pipe.send(work(job))
    except UserError as error:
        pipe.send(error)
    except Exception:
        pipe.send(RuntimeError(traceback.format_exc()))
