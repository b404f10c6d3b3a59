"""A run: its loop of steps, evaluations, snapshots and checkpoints, and its results in a folder."""

from __future__ import annotations

import logging
import math
import time
import traceback
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import torch

from ngo.common import plugins
from ngo.common.files import file_lock, remove_partial, writable_folder
from ngo.data.dataset import Dataset
from ngo.data.partition import Parts
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.native.threads import one_intra_op_thread
from ngo.training import evaluation, run_folder
from ngo.training.checkpoint import Checkpoints, Signals, State, Stopped
from ngo.training.evaluation import Evaluation, over_workers
from ngo.training.exchange_trial import try_exchanges
from ngo.training.global_state import restored_streams, set_stream_states, stream_states
from ngo.training.learning_problem import Problem, enough_memory, load_problem
from ngo.training.run_folder import Origin, finished, make_origin, write_results
from ngo.training.snapshots import UNREADABLE, Snapshots, save_snapshots, snapshot
from ngo.training.spec import CHECKPOINT_SECONDS, FINAL, RunSpec, own_entries
from ngo.training.spec_checks import check_snapshots
from ngo.training.stepper import Stepper
from verdicts.registry import UserError

Report = Callable[[Evaluation], None]
Progress = Callable[[int], None]

#: By the run's clock, or of cohorts; a module is imported when a run asks for it.
STEPPERS = {
    "steps": "ngo.training.stepper:Stepper",
    "waiting": "ngo.virtual.waiting_stepper:WaitingStepper",
    "asynchronous": "ngo.virtual.asynchronous_stepper:AsynchronousStepper",
    "cohorts": "ngo.training.cohort_stepper:CohortStepper",
}


def stepper_of(spec: RunSpec, problem: Problem, stops: Collection[int], **how: Any) -> Stepper:
    """The stepper of a run, by its clock; ``how`` are its other arguments.

    At ``stops``, steps of the run, its state has to be known: asynchronous steps are taken ahead.
    """
    if spec.clock == "asynchronous":
        how["stops"] = stops
    name = "cohorts" if spec.stepping < spec.workers else spec.clock
    stepper: Stepper = resolve_name(STEPPERS[name])(spec, problem, **how)
    return stepper


#: What a checkpoint has of a training as it is.
AS_THEY_ARE = ("width", "kept", "more")


class Training:
    """A run between two steps: its results so far, and all that decides the rest."""

    def __init__(
        self,
        spec: RunSpec,
        problem: Problem,
        *,
        snapshots: Collection[int | str] = (),
        draws: bool = False,
        **how: Any,
    ) -> None:
        """``draws``: the model draws from global random streams, which checkpoints then have.

        ``how`` are the ``backend``, ``threads`` and ``workers`` of a ``Stepper``.
        """
        self._start = time.perf_counter()  # less the time of a resumed run up to its checkpoint
        self._spec = spec
        self._problem = problem
        self._snapshots = snapshots
        self._marks = evaluation.evaluation_steps(spec, problem.owned)
        stops = {*self._marks, *(step for step in snapshots if isinstance(step, int))}
        self.stepper = stepper_of(spec, problem, stops, **how)
        self.population, self.steps = self.stepper.population, self.stepper.steps
        self.rows: list[Evaluation] = []
        #: The user's columns of each row, and last those that wait for the next row, if any do.
        self.more: list[dict[str, float]] = []
        self.kept: Snapshots = {}
        self.resumed: list[int] = []  # the steps at which the run was resumed
        self.width = 1  # the most runs whose gradients were taken together
        #: The GPUs on which the run took place: results are equal on cards of one kind.
        at = problem.device
        self.cards = [torch.cuda.get_device_name(at)] if at.type == "cuda" else []
        self.draws = draws
        # The losses of the steps since the last evaluation come first in memory that is allocated
        # once: as a block for each step, they would tear the memory that the next batches need.
        self._losses = torch.empty(0, device=problem.device)
        self._count = 0
        self.last = self._losses  # those of the last step

    @property
    def step(self) -> int:
        """The number of steps taken."""
        return self.stepper.t

    @property
    def epoch(self) -> float:
        """The passes over all workers' samples."""
        return self.stepper.samples / self._problem.owned

    @property
    def ended(self) -> bool:
        """Whether the last step has been taken, or an evaluation has diverged."""
        return self.step == self.steps or (bool(self.rows) and self.rows[-1].diverged)

    def proceed(self, **told: Any) -> None:
        """Train to the end, by itself; ``told`` are the arguments of ``turns``."""
        for _ in self.turns(**told):
            pass

    def turns(
        self,
        *,
        checkpoints: Checkpoints | None = None,
        signals: Signals | None = None,
        report: Report = lambda row: None,
        progress: Progress = lambda step: None,
    ) -> Iterator[None]:
        """Train to the end, with a pause before each step: others may take its gradients then.

        Raises Stopped after the step in which a signal arrives: one of the ``signals``, if there
        are no ``checkpoints``, which have their own.
        """
        if self.step == 0 and own_entries(self._spec):
            try_exchanges(self._spec, self.stepper)
        while True:
            evaluated = self.step in self._marks and self.evaluate()
            if evaluated:
                report(self.rows[-1])
            if self.step in self._snapshots or (self.ended and FINAL in self._snapshots):
                self.kept[self.step] = snapshot(self.population)
            if self.ended:
                return
            if checkpoints is not None:
                checkpoints.keep(self.step, self.steps, evaluated, self.state_dict)
            elif signals is not None and signals.asked:
                raise Stopped(signals.asked, self.step, self.steps, resumes=False)
            yield
            self._add(self.stepper.advance())
            progress(self.step)

    def _add(self, losses: torch.Tensor) -> None:
        """Keep the losses of a step."""
        start, self._count = self._count, self._count + len(losses)
        if self._count > len(self._losses):
            self._losses = torch.cat([self._losses[:start], losses.new_empty(2 * self._count)])
        self.last = self._losses[start : self._count]
        self.last.copy_(losses)

    @property
    def losses(self) -> torch.Tensor:
        """The losses of the steps since the last evaluation, in order."""
        return self._losses[: self._count]

    def state_dict(self) -> State:
        """What a checkpoint holds: all that the rest of the run depends on."""
        return {
            **self.stepper.state_dict(),
            "seconds": time.perf_counter() - self._start,
            "resumed": self.resumed,
            "rows": evaluation.as_columns(self.rows),
            "losses": self.losses,
            **{name: getattr(self, name) for name in AS_THEY_ARE},
            "cards": self.cards,
            **({"streams": stream_states()} if self.draws else {}),
        }

    def load_state_dict(self, state: State) -> None:
        """Restore from the ``state`` of the same run, made with the same backend."""
        self.stepper.load_state_dict(state)
        self._start = time.perf_counter() - state["seconds"]
        self.resumed = [*state["resumed"], self.step]
        for name in AS_THEY_ARE:
            setattr(self, name, state[name])
        self.cards = list(dict.fromkeys([*state["cards"], *self.cards]))
        self.rows = [Evaluation(*row) for row in zip(*state["rows"].values(), strict=True)]
        self._losses = state["losses"].to(self._problem.device)
        self._count = len(self._losses)
        if self.draws:
            set_stream_states(state["streams"])

    def evaluate(self) -> bool:
        """Add a row of this step, unless there is one; whether it was added."""
        if self.rows and self.rows[-1].step == self.step:
            return False
        with restored_streams() if self.draws else nullcontext():
            measured = {**self._measured(), **self.stepper.spent()}
            measured["samples"] = self.stepper.samples
            measured["seconds"] = time.perf_counter() - self._start
            row = evaluation.make_evaluation(self.step, self._problem.owned, **measured)
            self.rows.append(row)
            self.record(self._further())
        self._count = 0
        return True

    def record(self, values: Mapping[str, float]) -> None:
        """Add columns to the row of this step; before it is evaluated, to the next row."""
        due = len(self.rows) - bool(self.rows and self.rows[-1].step == self.step)
        self.more += [{} for _ in range(len(self.more), due + 1)]
        self.more[due] |= values

    def _further(self) -> dict[str, float]:
        """The columns of the task's named scores, and of the workers' own test samples."""
        problem, population, found = self._problem, self.population, dict[str, float]()
        task, chain = population.task, population.chain
        for name, score in task.scores.items():
            population.task, population.chain = replace(task, score=score), None
            of = population.evaluate(*problem.test_at(self.step), workers=problem.evaluated)
            found[f"consensus_{name}"], each = of.consensus_accuracy, of.worker_accuracies
            found |= over_workers(f"workers_{name}", each, "mean", "min", "max", "std")
            population.task, population.chain = task, chain
        if problem.own_tests:
            own = [
                population.evaluate(*problem.own_tests[self.stepper.workers[k]], workers=[k])
                for k in problem.evaluated
            ]
            columns = {"own_loss": [x for of in own for x in of.worker_losses]}
            if task.score is not None:
                columns["own_accuracy"] = [x for of in own for x in of.worker_accuracies]
            for name, each in columns.items():
                found |= over_workers(name, each, "mean", "min", "p10", "std")
        return found

    def write(self, out: Path, origin: Origin, **how: object) -> None:
        """Write the results into the folder ``out``, where they take the place of earlier ones.

        ``how`` goes into the record.
        """
        run_folder.clear(out)
        if self._snapshots:
            save_snapshots(out / run_folder.MODELS, self._spec, self.kept)
        common = {
            **({"device": ", ".join(self.cards)} if self.cards else {}),
            "snapshots": sorted(self.kept),
            "backend": self.population.backend,
            "streams": "card" if self.cards else "cpu",
            "backend_reason": self.population.reason,
        }
        size = {"classes_covered": self._problem.classes_covered, "parameters": self.population.d}
        write_results(out, origin, self.rows, size, {**common, **how})
        (out / run_folder.CHECKPOINT).unlink(missing_ok=True)

    def _measured(self) -> dict[str, Any]:
        """What ``make_evaluation`` takes of this step, but for samples and time."""
        problem, population = self._problem, self.population
        return {
            "train_loss": float(self.losses.double().mean()) if self._count else math.nan,
            "V": float(synchronization_index(population.honest, population.shares)),
            "scores": population.evaluate(*problem.test_at(self.step), workers=problem.evaluated),
            "holdout": problem.holdout and population.evaluate(*problem.holdout, workers=()),
            "messages": self.stepper.network.messages,
            "bytes_sent": self.stepper.network.bytes_sent,
        }


log = logging.getLogger("ngo")

# What a run writes into its folder.
OUTPUTS = (run_folder.MODELS, run_folder.METRICS, run_folder.RECORD, run_folder.CHECKPOINT)


#: A run that pauses before each of its steps, and returns its last evaluation.
Turns = Generator[Training, None, Evaluation | None]


def run(spec: RunSpec, out: Path, root: Path, **how: Any) -> Evaluation | None:
    """Train ``spec`` by itself; ``how`` are the arguments of ``turns``.

    Raises Stopped after a signal, also if the results are written.
    """
    signals = Signals()
    with one_intra_op_thread(), enough_memory(spec):
        last = ended(turns(spec, out, root, signals=signals, **how))
    signals.check()
    return last


def ended(pausing: Turns) -> Evaluation | None:
    """What a run returns at its end."""
    while True:
        try:
            next(pausing)
        except StopIteration as end:
            return end.value


def turns(
    spec: RunSpec,
    out: Path,
    root: Path,
    *,
    parts: Parts | None = None,
    data: Dataset | None = None,
    device: str = "cpu",
    snapshots: Collection[int | str] = (),
    threads: int | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    overwrite: bool = False,
    unless: Callable[[], bool] = lambda: False,
    on_wait: Callable[[], None] | None = None,
    report: Report = lambda row: None,
    progress: Progress = lambda step: None,
    tell: Callable[[str], None] = log.info,
    signals: Signals,
) -> Turns:
    """Train ``spec`` and write ``metrics.parquet`` and ``run.json`` into the folder ``out``, and
    ``models.pt`` (see ``snapshots``) if there are ``snapshots``; the last evaluation.

    Without ``parts`` the partition is drawn: the same that a partition file holds. ``data`` are
    those of the run on the ``device``, if they are loaded already. Until all
    results are written, ``out`` holds a checkpoint, from which the same run resumes; ``tell`` is
    called with a line about that. SIGTERM and SIGINT raise Stopped after the current step, but for
    the last: who starts the run asks its ``signals`` at its end. They may be those of several runs.

    If ``out`` holds the finished run, nothing is trained. If it holds another run, finished or not,
    a UserError is raised. With ``overwrite`` the run is trained in either case; a checkpoint of the
    same run is still resumed.

    While another process trains in ``out``, this one calls ``on_wait`` once and waits; then it
    trains nothing if ``unless()``, and returns None.
    """
    problem = load_problem(spec, root, device, parts, data)
    check_snapshots(spec, snapshots, problem.last_step)
    origin = make_origin(spec, problem, device, snapshots, None)
    on_wait = on_wait or partial(tell, f"waiting for another run in {out}")
    with file_lock(writable_folder(out) / run_folder.LOCK, on_wait), signals:
        path = out / run_folder.CHECKPOINT
        checkpoints = Checkpoints(
            path, origin.about, checkpoint_seconds, tell, overwrite=overwrite, signals=signals
        )
        if unless():
            path.unlink(missing_ok=True)
            return None
        if last := None if overwrite else finished(out, origin, tell):
            return last
        remove_partial(out, *OUTPUTS)
        start = partial(Training, spec, problem, snapshots=snapshots, threads=threads)
        training = at_checkpoint(start, checkpoints)
        if training.resumed:
            tell(f"resuming at step {training.step} of {training.steps}")
            progress(training.step)
        for _ in training.turns(checkpoints=checkpoints, report=report, progress=progress):
            yield training
        training.write(out, origin, width=training.width, resumed_at_steps=training.resumed)
    return training.rows[-1]


def at_checkpoint(start: Callable[..., Training], checkpoints: Checkpoints | None) -> Training:
    """The training at its checkpoint, ``resumed``; without a usable one, at its start.

    ``start`` makes the training; it takes the backend.
    """
    if checkpoints is not None and (state := checkpoints.load()) is not None:
        try:
            training = start(backend=state["backend"])
            training.load_state_dict(state)
            return training
        except torch.OutOfMemoryError:  # a good checkpoint is not trained over
            raise
        except (*UNREADABLE, UserError):  # one that is not the state's fault is raised again
            checkpoints.refuse("it holds no state of this run")
    return start()


@contextmanager
def named_in_errors(spec: RunSpec) -> Iterator[None]:
    """Turn an error in the code of a user's entry that the run names into a UserError of one line.

    It names the entry, the file and the line. So it does for a ``sys.exit``, which would end the
    command as if it had done its work. Other errors, and a lack of memory, are raised as they are.
    """
    try:
        yield
    except (UserError, MemoryError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:
        own = own_entries(spec)
        for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
            code = frame.f_code
            for key, (module, function) in own.items():
                inside = f"{code.co_qualname}.".startswith(f"{function}.")
                if inside and frame.f_globals.get("__name__") == module:
                    what = f"{key} {getattr(spec, key)!r}"
                    raise plugins.failed(what, code, line, error) from error
        raise
