"""The training loop: steps, evaluations, snapshots, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection

import torch

from ngo.engine.population import Population
from ngo.gossip.consensus import synchronization_index
from ngo.training.checkpoint import Checkpoints, State
from ngo.training.evaluation import (
    Evaluation,
    as_columns,
    evaluation_steps,
    from_columns,
    make_evaluation,
)
from ngo.training.problem import Problem
from ngo.training.snapshots import STATE, Snapshots, snapshot
from ngo.training.spec import FINAL, RunSpec
from ngo.training.virtual.clock import CLOCKS

Report = Callable[[Evaluation], None]
Progress = Callable[[int], None]


class Training:
    """A run between two steps: its results so far, and all that decides the rest."""

    def __init__(
        self,
        spec: RunSpec,
        problem: Problem,
        *,
        snapshots: Collection[int | str] = (),
        backend: str | None = None,
        threads: int | None = None,
    ) -> None:
        """``backend`` overrides the run's: it is the one that ``auto`` chose before a stop."""
        self._start = time.perf_counter()
        self._spec = spec
        self._problem = problem
        self._snapshots = snapshots
        self._marks = evaluation_steps(spec, problem.owned, problem.per_step)
        stops = {*self._marks, *(step for step in snapshots if isinstance(step, int))}
        make = CLOCKS[spec.clock].of
        self.stepper = make(spec, problem, stops, backend=backend, threads=threads)
        self.rows: list[Evaluation] = []
        self.kept: Snapshots = {}
        self.seconds_evaluating = 0.0  # the part of ``seconds`` that evaluations took
        self.resumed: list[int] = []  # the steps at which the run was resumed
        self._losses: list[torch.Tensor] = []  # of the steps since the last evaluation

    @property
    def population(self) -> Population:
        """The workers."""
        return self.stepper.population

    @property
    def step(self) -> int:
        """The number of steps taken."""
        return self.stepper.t

    @property
    def steps(self) -> int:
        """The number of steps of the whole run."""
        return self.stepper.steps

    @property
    def ended(self) -> bool:
        """Whether the last step has been taken, or an evaluation has diverged."""
        return self.step == self.steps or (bool(self.rows) and self.rows[-1].diverged)

    @property
    def seconds(self) -> float:
        """The time since the start. A resumed run adds the time up to its checkpoint."""
        return time.perf_counter() - self._start

    def proceed(
        self,
        *,
        checkpoints: Checkpoints | None = None,
        report: Report = lambda row: None,
        progress: Progress = lambda step: None,
    ) -> None:
        """Train to the end; raises Stopped after the step in which a signal arrives."""
        while True:
            evaluated = self.step in self._marks and self.step not in (r.step for r in self.rows)
            if evaluated:
                self._evaluate()
                report(self.rows[-1])
            if self.step in self._snapshots or (self.ended and FINAL in self._snapshots):
                self.kept[self.step] = snapshot(self.population)
            if self.ended:
                return
            if checkpoints is not None:
                checkpoints.keep(self.step, self.steps, evaluated, self.state_dict)
            self._losses.append(self.stepper.advance())
            progress(self.step)

    def state_dict(self) -> State:
        """What a checkpoint holds: all that the rest of the run depends on."""
        return {
            **self.stepper.state_dict(),
            "seconds": self.seconds,
            "seconds_evaluating": self.seconds_evaluating,
            "resumed": self.resumed,
            "rows": as_columns(self.rows),
            "kept": self.kept,
            "losses": torch.cat(self._losses) if self._losses else torch.empty(0),
        }

    def load_state_dict(self, state: State) -> None:
        """Restore from the ``state`` of the same run, made with the same backend."""
        self.stepper.load_state_dict(state)
        self._start = time.perf_counter() - state["seconds"]
        self.seconds_evaluating = state["seconds_evaluating"]
        self.resumed = [*state["resumed"], self.step]
        self.rows = from_columns(state["rows"])
        # With keys of our own: equal ones from elsewhere would change the bytes of models.pt.
        self.kept = {
            step: {name: models[name] for name in STATE if name in models}
            for step, models in state["kept"].items()
        }
        self._losses = [state["losses"].to(self._problem.device)] if len(state["losses"]) else []

    def _evaluate(self) -> None:
        problem, population, losses = self._problem, self.population, self._losses
        start = time.perf_counter()
        scores = population.evaluate(*problem.test_at(self.step), workers=problem.evaluated)
        holdout = problem.holdout and population.evaluate(*problem.holdout, workers=())
        self.seconds_evaluating += time.perf_counter() - start
        row = make_evaluation(
            self.step,
            problem.owned,
            samples=self.stepper.samples,
            train_loss=float(torch.cat(losses).double().mean()) if losses else math.nan,
            V=float(synchronization_index(population.honest)),
            scores=scores,
            holdout=holdout,
            messages=self.stepper.network.messages,
            bytes_sent=self.stepper.network.bytes_sent,
            seconds=self.seconds,
            **self.stepper.spent(),
        )
        self.rows.append(row)
        self._losses = []
