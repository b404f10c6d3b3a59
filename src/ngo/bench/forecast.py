"""A forecast: how long the runs of a config take on this machine, and their memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from ngo.bench.kinds import kind_of
from ngo.bench.run_costs import Costs, run_costs
from ngo.common.memory_limit import in_words, memory_limit
from ngo.pipeline.progress import duration
from ngo.pipeline.work import recorded, requested_memory, runs_by_setting, work
from ngo.training.results_version import results_version
from ngo.training.spec import RunSpec

# Seconds of Snakemake's own work for each job, as ``ngo bench workflow`` measures it.
JOB = 0.3


@dataclass
class Times:
    """The times of some runs, added up."""

    runs: int = 0
    samples: int = 0
    #: All seconds, those in evaluations, and those of runs whose kind was tried.
    seconds: float = 0.0
    evaluating: float = 0.0
    tried: float = 0.0

    def add(self, others: Times) -> None:
        """Add the times of other runs."""
        self.runs += others.runs
        self.samples += others.samples
        self.seconds += others.seconds
        self.evaluating += others.evaluating
        self.tried += others.tried

    @property
    def share(self) -> str:
        """The share of evaluations; empty without a run."""
        return f"{self.evaluating / self.seconds:.0%}" if self.seconds else ""


@dataclass
class Row:
    """The runs of an experiment in one of its settings."""

    experiment: str
    setting: str
    #: Runs that are not trained yet, as a forecast.
    left: Times = field(default_factory=Times)
    #: Bytes of memory that the largest run needs, and those that runs request from a scheduler.
    memory: int = 0
    requested: int = 0
    #: Trained runs, with the times in their records: without the start of a job.
    finished: Times = field(default_factory=Times)
    #: The seconds that a forecast of the trained runs would have given.
    expected: float = 0.0


@dataclass(frozen=True)
class Forecast:
    """How long a tier takes."""

    tier: str
    rows: list[Row]
    #: How many runs are trained at the same time.
    jobs: int
    costs: Costs

    @property
    def hours(self) -> float:
        """The hours that are left, if nothing else needs the cores."""
        return sum(row.left.seconds for row in self.rows) / self.jobs / 3600

    def as_text(self) -> str:
        """A table with a row for each experiment and setting, and the total."""
        from tabulate import tabulate

        from ngo.training.record import processor

        rows, total = [], Times()
        some_finished = any(row.finished.runs for row in self.rows)
        for row in self.rows:
            left, done = row.left, row.finished
            total.add(left)
            rows.append(
                {
                    "experiment": row.experiment,
                    "setting": row.setting,
                    "runs": left.runs,
                    "samples": f"{left.samples:,}",
                    "minutes": f"{left.seconds / self.jobs / 60:.1f}",
                    "evaluation": left.share,
                    "memory of a run": in_words(row.memory) if row.memory else "",
                }
            )
            if some_finished:
                rows[-1] |= {
                    "finished": done.runs,
                    "took": f"{done.seconds / self.jobs / 60:.1f}" if done.runs else "",
                    "of forecast": f"{done.seconds / row.expected:.0%}" if row.expected else "",
                    "its evaluation": done.share,
                }
        cores = f"{self.jobs} at a time" if self.jobs > 1 else "one at a time"
        lines = [
            tabulate(rows, headers="keys", disable_numparse=True, stralign="right"),
            "",
            f"{self.tier}: {total.runs:,} runs to train, {cores}, on {processor()}: "
            f"{duration(self.hours * 3600)}"
            + (f", {total.share} of it evaluations" if total.runs else ""),
        ]
        if total.runs and len(self.costs.tried) < len(self.costs.kinds):
            lines.append(self._likeness(total))
        if total.runs and self.costs.slowdown > 1.1:
            lines.append(
                "Other programs slow this machine down now: "
                f"{duration(self.hours * 3600 * self.costs.slowdown)}, {self.costs.slowdown:.1f} "
                "times as long, if that does not change. They also share its caches: on an idle "
                "machine, a new measurement is shorter and more exact."
            )
        largest = max((row.memory for row in self.rows), default=0)
        lines.append(
            f"memory: at most {in_words(largest)} for a run, {cores}; a process may use "
            f"{in_words(memory_limit())} here."
        )
        lines += [
            f"memory: {row.experiment} in {row.setting} needs {in_words(row.memory)}, and requests "
            f"{in_words(row.requested)} from a scheduler; raise mem_mb in resources.train."
            for row in self.rows
            if 0 < row.requested < row.memory
        ]
        lines.append("Tables, figures, and measurements other than training are not included.")
        return "\n".join(lines)

    def _likeness(self, total: Times) -> str:
        """How many kinds were tried, and how wrong the others may be."""
        tried, errors = self.costs.tried, self.costs.errors
        line = (
            f"{len(tried)} of {len(self.costs.kinds)} kinds of runs were tried, those of "
            f"{total.tried / total.seconds:.0%} of the time; the others are forecast from the most "
            "similar of these."
        )
        if errors:
            line += (
                " Among the tried, such a forecast of a sample is wrong by "
                f"{median(errors):.0%} (median), at most {errors[-1]:.0%}."
            )
        return line


def forecast(
    config: Mapping,
    root: Path,
    *,
    results: Path,
    device: str = "cpu",
    cores: int = 1,
    measure: Callable[..., Costs] = run_costs,
) -> Forecast:
    """How long the runs of a config take with ``cores`` cores, by a measurement of a minute or two.

    Runs that have finished with the same code, in ``results/runs``, are not counted. ``root`` is
    the folder of the data sets. A run that experiments share counts in the first of them.
    """
    listed = list(runs_by_setting(config))
    threads = config["threads"]
    jobs = max(1, cores // threads)
    costs = measure(
        [spec for _, _, specs in listed for spec in specs],
        root,
        device=device,
        threads=threads,
        jobs=jobs,
        warm=config["warm"] and device == "cpu",
        plugins=config.get("plugins", ()),
    )
    rows = [
        _row(Row(experiment, setting), specs, costs, results, config["resources"]["train"])
        for experiment, setting, specs in listed
    ]
    return Forecast(config["tier"], rows, jobs, costs)


def _row(
    row: Row, specs: Sequence[RunSpec], costs: Costs, results: Path, resources: Mapping
) -> Row:
    """The ``row`` of the runs ``specs``."""
    for spec in specs:
        train_samples, test_samples = costs.sizes[spec.dataset]
        cost = costs.kinds[kind := kind_of(spec)]
        row.memory = max(row.memory, cost.memory)
        row.requested = requested_memory(resources, spec.dataset) * 10**6
        each = work(spec, test_samples, train_samples)
        evaluating = cost.image * each.images
        seconds = cost.sample * each.samples + evaluating
        found = recorded(spec.id, results)
        if found is not None and found.code == results_version(spec):
            row.finished.add(Times(1, each.samples, found.seconds, found.evaluating))
            row.expected += seconds * min(1.0, found.steps / each.steps)
        else:
            whole = JOB + costs.start + cost.setup + seconds
            tried = whole if kind in costs.tried else 0.0
            row.left.add(Times(1, each.samples, whole, evaluating, tried))
    return row
