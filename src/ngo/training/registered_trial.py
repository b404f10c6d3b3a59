"""The trial of a run whose model, task and data set are registered."""

from __future__ import annotations

from ngo.native.pool import one_intra_op_thread
from ngo.training.finite import refuse_not_finite
from ngo.training.problem import Problem, batch_sizes
from ngo.training.spec import RunSpec
from ngo.training.trial import Names, try_out


@one_intra_op_thread()
def check_problem(spec: RunSpec, problem: Problem) -> None:
    """Raise a one-line UserError unless the run's model fits its task and its data.

    A gradient is taken on the first samples, as ``fit`` does. Global random streams do not change.
    """
    names = Names(f"model {spec.model!r}", f"task {spec.task!r}, ", f"dataset {spec.dataset!r}, ")
    size = min(batch_sizes(spec, problem.parts))
    try_out(problem.model, problem.data, problem.task, size, names)
    refuse_not_finite(problem.model, problem.data, problem.task, size, names)
