"""How much of the training is left while the pipeline works.

Light: the workflow imports this module at every start, so it imports no torch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ngo.pipeline.work import TEST_SAMPLES, Recorded, Work, recorded, work
from ngo.training.spec import RunSpec

# Seconds between two lines, at least: with short runs, a line for each would be too many.
EVERY = 30.0

# The cost of a test sample of an evaluation in training samples: about that of a forward pass.
IMAGE = 0.27


@dataclass
class _Sum:
    """Seconds, and what they were spent on."""

    seconds: float = 0.0
    amount: float = 0.0

    def add(self, seconds: float, amount: float) -> None:
        self.seconds += seconds
        self.amount += amount

    @property
    def each(self) -> float:
        """Seconds for one."""
        return self.seconds / self.amount if self.amount else 0.0


def kind(spec: RunSpec) -> tuple:
    """Runs of the same kind take about the same time for the same work."""
    return spec.dataset, spec.model, spec.batch_size, spec.augmentation, spec.local_rule


def weight(work: Work) -> float:
    """The work of a run, in training samples."""
    return work.samples + IMAGE * work.images


class Progress:
    """The training runs of a workflow, as they start and end.

    The time that is left is the time so far, times the runs that are left over the runs that are
    done. In this ratio, a run counts with the seconds that it is expected to take: its samples and
    evaluations times what they cost in the finished runs of its kind (in all finished runs, if none
    of its kind is among them), and the time around them. So nothing is measured beforehand, and the
    number of jobs at a time need not be known.
    """

    def __init__(
        self,
        specs: Iterable[RunSpec],
        results: Path,
        *,
        here: bool = True,
        clock: Callable[[], float] = time.monotonic,
        read: Callable[[str, Path], Recorded | None] = recorded,
    ) -> None:
        """``specs`` are the runs to train, in ``results/runs``.

        ``here``: jobs run on this machine. Then a run at work counts as done for the time since its
        start; in the queue of a cluster it may not have started.
        """
        self.specs = {spec.id: spec for spec in specs}
        self.done: set[str] = set()
        self._results = results
        self._here = here
        self._clock = clock
        self._read = read
        self._began: float | None = None
        self._running: dict[str, float] = {}
        self._told: float | None = None
        self._test_samples: dict[str, int] = {}
        self._by_kind: dict[tuple, _Sum] = {}
        self._all, self._around = _Sum(), _Sum()

    def start(self, run: str) -> None:
        """Note that a run starts."""
        now = self._clock()
        self._began = now if self._began is None else self._began
        if run in self.specs:
            self._running[run] = now

    def finish(self, run: str) -> str | None:
        """Note that a run has finished; the line to print now, if it is time for one.

        Lines are EVERY seconds apart, or more; the last run has one in any case.
        """
        if run not in self.specs or run in self.done:
            return None
        now = self._clock()
        self._learn(run, now - self._running.pop(run, now))
        self.done.add(run)
        ended = len(self.done) == len(self.specs)
        if not ended and self._told is not None and now - self._told < EVERY:
            return None
        self._told = now
        return self.line()

    def line(self) -> str:
        """For example ``312 of 1,556 runs, 41 min; about 2 h 10 min left``."""
        passed = 0.0 if self._began is None else self._clock() - self._began
        text = f"{len(self.done):,} of {len(self.specs):,} runs, {duration(passed)}"
        left = self.seconds_left()
        if len(self.done) == len(self.specs) or left is None:
            return text
        return f"{text}; about {duration(left)} left"

    def seconds_left(self) -> float | None:
        """The seconds until all runs are trained; None while no run has finished."""
        if self._began is None or not self.done:
            return None
        now = self._clock()
        expected = {run: self._expected(spec) for run, spec in self.specs.items()}
        done = sum(expected[run] for run in self.done)
        if self._here:
            done += sum(min(now - began, expected[run]) for run, began in self._running.items())
        return (now - self._began) * (sum(expected.values()) - done) / done if done else None

    def _learn(self, run: str, taken: float) -> None:
        """Add what a finished run took."""
        spec, found = self.specs[run], self._read(run, self._results)
        if found is None:
            return
        self._test_samples[spec.dataset] = found.test_samples
        planned = work(spec, found.test_samples)
        amount = weight(planned) * min(1.0, found.steps / planned.steps)  # less if it diverged
        self._by_kind.setdefault(kind(spec), _Sum()).add(found.seconds, amount)
        self._all.add(found.seconds, amount)
        self._around.add(max(0.0, taken - found.seconds) if self._here else 0.0, 1)

    def _expected(self, spec: RunSpec) -> float:
        """The seconds that a run takes."""
        test_samples = self._test_samples.get(spec.dataset, TEST_SAMPLES)
        cost = self._by_kind.get(kind(spec), self._all)
        return cost.each * weight(work(spec, test_samples)) + self._around.each


def duration(seconds: float) -> str:
    """For example ``2 h 10 min``, ``41 min`` or ``30 s``."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{max(0, round(seconds))} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
