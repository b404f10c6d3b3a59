"""Evaluations: the rows of a run's metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ngo.common.fields import reserve
from ngo.common.lazy import np
from ngo.common.seeding import numpy_stream
from ngo.training.spec import FIELDS, RunSpec
from verdicts.registry import check

if TYPE_CHECKING:
    from ngo.engine.backends import Scores


@dataclass(frozen=True)
class Evaluation:
    """One row of a run's metrics, on the test set. Accuracies are shares of 1.

    Byzantine workers count in ``samples``, ``messages`` and ``bytes_sent`` only.
    """

    #: The number of steps taken.
    step: int
    #: The passes over all workers' samples.
    epoch: float
    #: The number of training samples used, by all workers together.
    samples: int
    #: The mean loss of the batches since the last evaluation.
    train_loss: float
    #: The synchronization index.
    V: float
    #: The accuracy of the mean of the workers' models; NaN for a task without accuracies.
    consensus_accuracy: float
    #: The loss of the mean of the workers' models.
    consensus_loss: float
    #: The mean of the accuracies of the evaluated workers' own models; NaN without accuracies.
    workers_accuracy_mean: float
    #: The smallest of these accuracies.
    workers_accuracy_min: float
    #: The largest of these accuracies.
    workers_accuracy_max: float
    #: The standard deviation of these accuracies, over the workers.
    workers_accuracy_std: float
    #: The mean of the losses of the evaluated workers' own models.
    workers_loss_mean: float
    #: The smallest of these losses.
    workers_loss_min: float
    #: The largest of these losses.
    workers_loss_max: float
    #: The standard deviation of these losses, over the workers.
    workers_loss_std: float
    #: The accuracy of the mean model on the held-out training samples; NaN if there are none.
    holdout_accuracy: float
    #: The loss of the mean model on the held-out training samples; NaN if there are none.
    holdout_loss: float
    #: The number of models (or gradients) sent from one worker to another so far.
    messages: int
    #: The bytes of these messages.
    bytes_sent: int
    #: Whether a loss or a parameter was not finite, here or before.
    diverged: bool
    #: Seconds since the start. They measure the machine; they are kept in the run's record.
    seconds: float
    #: Virtual seconds since the start; NaN without a clock.
    virtual_seconds: float = math.nan
    #: The energy of steps and messages so far; NaN without a clock.
    joules: float = math.nan

    def __str__(self) -> str:
        accurate = math.isfinite(self.consensus_accuracy)
        score, how = ("accuracy", "6.2%") if accurate else ("loss", "8.4f")
        consensus = getattr(self, f"consensus_{score}")
        workers = getattr(self, f"workers_{score}_mean")
        return (
            f"epoch {self.epoch:6.2f}  step {self.step:6d}  train loss {self.train_loss:7.4f}  "
            f"V {self.V:9.3g}  test {score}: consensus {consensus:{how}}, "
            f"workers {workers:{how}}  {self.seconds:6.1f} s{'  DIVERGED' * self.diverged}"
        )


reserve(f.name for f in fields(Evaluation))  # tables have them next to the fields of a run


def evaluation_steps(spec: RunSpec, owned: int) -> list[int]:
    """The steps after which the run is evaluated, from 0 to the last one.

    An epoch is as many steps as pass once over the ``owned`` samples of all workers together.
    """
    per_epoch = owned / spec.per_step
    steps = spec.steps(owned)
    count = int(steps / (spec.eval_every * per_epoch)) + 1
    marks = {round(k * spec.eval_every * per_epoch) for k in range(count + 1)}
    return sorted({0, steps} | {mark for mark in marks if mark < steps})


def evaluated_workers(spec: RunSpec) -> list[int]:
    """The workers that evaluations score, sorted: all, or a random sample.

    The sample is drawn once, from the stream (seed, "eval_workers"): it is the same in all
    evaluations, and in all runs with the same seed and number of honest workers.
    """
    order = numpy_stream(spec.seed, "eval_workers").permutation(spec.honest)
    return sorted(order[: spec.evaluated].tolist())


def make_evaluation(
    step: int, owned: int, *, scores: Scores, holdout: Scores | None, **measured: Any
) -> Evaluation:
    """The row of a step, from what was measured.

    ``owned`` is how many samples all workers own together; ``holdout`` are the scores on held-out
    samples; ``measured`` are columns: ``samples``, ``train_loss``, ``V``, the messages and the
    time. If no evaluated worker is left, the statistics over workers are NaN.
    """
    accuracy, loss = np.array(scores.worker_accuracies), np.array(scores.worker_losses)
    finite = math.isfinite(measured["V"]) and math.isfinite(scores.consensus_loss)
    trained = step == 0 or math.isfinite(measured["train_loss"])
    statistics: dict[str, Any] = {}
    for name, values in (("accuracy", accuracy), ("loss", loss)):
        statistics |= over_workers(f"workers_{name}", values, "mean", "min", "max", "std")
    for name, of in (("consensus", scores), ("holdout", holdout)):
        statistics[f"{name}_accuracy"] = of.consensus_accuracy if of else math.nan
        statistics[f"{name}_loss"] = of.consensus_loss if of else math.nan
    diverged = not (finite and trained and np.isfinite(loss).all())
    row = {"step": step, "epoch": measured["samples"] / owned, "diverged": diverged}
    return Evaluation(**row, **statistics, **measured)


def check_column(key: str, name: object, column: str) -> None:
    """Raise a UserError unless ``name`` may name a ``column`` that a user adds to the metrics."""
    taken = {*FIELDS, *(f.name for f in fields(Evaluation)), "run", "case"}
    plain = isinstance(name, str) and name.isidentifier() and column not in taken
    check(plain, key, name, "a column needs a name of letters, digits and _ that no other one has")


def over_workers(name: str, values: Any, *how: str) -> dict[str, float]:
    """The columns ``NAME_mean`` and the like; ``p10`` is the 10th percentile."""
    numbers = np.asarray(values if len(values) else [math.nan])
    of = {x: np.quantile(numbers, 0.1) if x == "p10" else getattr(numbers, x)() for x in how}
    return {f"{name}_{x}": float(value) for x, value in of.items()}


def as_columns(rows: list[Evaluation]) -> dict[str, list[Any]]:
    """Evaluations as columns, in order; without those of virtual time, if the run has none."""
    names = [f.name for f in fields(Evaluation)]
    if math.isnan(rows[-1].virtual_seconds if rows else math.nan):
        names = [name for name in names if name not in ("virtual_seconds", "joules")]
    return {name: [getattr(row, name) for row in rows] for name in names}
