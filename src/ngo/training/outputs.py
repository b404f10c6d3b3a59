"""Whether a model has an output for each class of its data."""

from __future__ import annotations

import torch

from ngo.common.registry import UserError
from ngo.training.problem import Problem
from ngo.training.spec import RunSpec


def check_outputs(spec: RunSpec, problem: Problem) -> None:
    """Raise a UserError if a classifier has fewer outputs than the data has classes.

    The model is built once and evaluated on one test sample. Random streams stay as they were.
    """
    classes = problem.data.classes
    if spec.task != "classification" or classes is None:
        return
    sample = problem.test[0][0][:1].cpu()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        outputs = problem.model.build(torch.Generator()).eval()(sample).shape[1]
    if outputs < classes:
        raise UserError(
            f"model: {spec.model!r} has {outputs} outputs, but dataset {spec.dataset!r} has "
            f"{classes} classes; use a model with {classes} outputs or more."
        )
