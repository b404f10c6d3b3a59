"""A forecast: how long the runs of a config take on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ngo.bench.costs import processor
from ngo.bench.run_costs import Costs, image_key, run_costs, step_key
from ngo.pipeline.progress import duration
from ngo.pipeline.work import Work, evaluation_share, recorded, runs_by_setting, work
from ngo.training.code import run_fingerprint
from ngo.training.spec import RunSpec

# Seconds of Snakemake's own work for each job, as ``ngo bench workflow`` measures it.
JOB = 0.3


@dataclass(frozen=True)
class Row:
    """The runs of an experiment in one of its settings."""

    experiment: str
    setting: str
    #: The runs that are not trained yet: how many, their samples, their seconds of one job, and how
    #: many of these are evaluations.
    runs: int
    samples: int
    seconds: float
    evaluating: float
    #: Those that are: how many, the seconds that were forecast, those on record (without the start
    #: of a job), and the share of evaluations in the latter.
    finished: int
    expected: float
    took: float
    took_share: float


@dataclass(frozen=True)
class Forecast:
    """How long a tier takes."""

    tier: str
    rows: list[Row]
    #: How many runs are trained at the same time.
    jobs: int
    #: Wall time per CPU time of the measurement.
    slowdown: float

    @property
    def hours(self) -> float:
        """The hours that are left, if nothing else needs the cores."""
        return sum(row.seconds for row in self.rows) / self.jobs / 3600

    def as_text(self) -> str:
        """A table with a row for each experiment and setting, and the total."""
        from tabulate import tabulate

        rows = [
            {
                "experiment": row.experiment,
                "setting": row.setting,
                "runs": row.runs,
                "samples": f"{row.samples:,}",
                "minutes": f"{row.seconds / self.jobs / 60:.1f}",
                "evaluation": _percent(row.evaluating, row.seconds),
                "finished": row.finished,
                "took": f"{row.took / self.jobs / 60:.1f}" if row.finished else "",
                "of forecast": _percent(row.took, row.expected),
                "its evaluation": f"{row.took_share:.0%}" if row.finished else "",
            }
            for row in self.rows
        ]
        if not any(row.finished for row in self.rows):
            rows = [dict(list(row.items())[:6]) for row in rows]
        hours, slow = self.hours * 3600, self.hours * 3600 * self.slowdown
        cores = f"{self.jobs} at a time" if self.jobs > 1 else "one at a time"
        left = sum(row.runs for row in self.rows)
        evaluating = _percent(
            sum(row.evaluating for row in self.rows), sum(row.seconds for row in self.rows)
        )
        lines = [
            tabulate(rows, headers="keys", disable_numparse=True, stralign="right"),
            "",
            f"{self.tier}: {left:,} runs to train, {cores}, on {processor()}: {duration(hours)}"
            + (f", {evaluating} of it evaluations" if left else ""),
        ]
        if left and self.slowdown > 1.1:
            lines.append(
                f"Other programs slow this machine down now: {duration(slow)}, "
                f"{self.slowdown:.1f} times as long, if that does not change. They also share its "
                "caches: on an idle machine, a new measurement is shorter and more exact."
            )
        lines.append("Tables, figures and measurements beside training are not included.")
        return "\n".join(lines)


def forecast(
    config: Mapping,
    root: Path,
    *,
    results: Path,
    device: str = "cpu",
    cores: int = 1,
    measure: Callable[..., Costs] = run_costs,
) -> Forecast:
    """How long the runs of a config take with ``cores`` cores, by a measurement of about a minute.

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
        plugins=config.get("plugins", ()),
    )
    rows = [
        _row(experiment, setting, specs, costs, config["warm"] and device == "cpu", results)
        for experiment, setting, specs in listed
    ]
    return Forecast(config["tier"], rows, jobs, costs.slowdown)


def _row(
    experiment: str,
    setting: str,
    specs: Sequence[RunSpec],
    costs: Costs,
    warm: bool,
    results: Path,
) -> Row:
    """The row of the runs ``specs``."""
    left: list[tuple[Work, float, float]] = []
    expected, done = 0.0, []
    for spec in specs:
        train_samples, test_samples = costs.sizes[spec.dataset]
        each = work(spec, test_samples, train_samples)
        training, evaluating = run_seconds(spec, each, costs)
        found = recorded(spec.id, results)
        if found is not None and found.code == run_fingerprint(spec):
            done.append(found)
            expected += (training + evaluating) * min(1.0, found.steps / each.steps)
        else:
            start = costs.warm if warm else costs.cold
            around = JOB + start + costs.around[image_key(spec)]
            left.append((each, around + training + evaluating, evaluating))
    return Row(
        experiment,
        setting,
        runs=len(left),
        samples=sum(each.samples for each, _, _ in left),
        seconds=sum(seconds for _, seconds, _ in left),
        evaluating=sum(seconds for _, _, seconds in left),
        finished=len(done),
        expected=expected,
        took=sum(each.seconds for each in done),
        took_share=evaluation_share(done),
    )


def run_seconds(spec: RunSpec, work: Work, costs: Costs) -> tuple[float, float]:
    """The seconds of a run's steps, and of its evaluations."""
    return costs.samples[step_key(spec)] * work.samples, costs.images[image_key(spec)] * work.images


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else ""
