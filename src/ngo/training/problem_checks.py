"""What a run needs to start: memory, and a model, a task and data that go together.

A gradient is taken on the first samples, as in the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ngo.common.memory import in_words, memory_limit
from ngo.common.registry import UserError, in_a_line
from ngo.data import loading
from ngo.data.dataset import Dataset
from ngo.data.partition import Parts
from ngo.engine.backends import in_float32
from ngo.models.task import TASKS, Task, correct
from ngo.native.threads import one_intra_op_thread
from ngo.training.global_state import restored_streams, streams
from ngo.training.learning_problem import Problem, make_problem
from ngo.training.partition_file import parts_by_owner
from ngo.training.spec import RunSpec

LESS = "use fewer workers, a smaller model or a smaller batch_size."


def check_memory(spec: RunSpec, problem: Problem, workers: int) -> None:
    """Raise a UserError if so many workers have more parameters than the machine's memory holds.

    The least that a run needs are parameters, gradients and one matrix of the method, in float32.
    """
    with torch.random.fork_rng(devices=[]):
        module = problem.model.build(torch.Generator())
    least = 3 * 4 * workers * sum(map(torch.numel, module.parameters()))
    if least > (limit := memory_limit()):
        raise UserError(
            f"workers: {workers} with model {spec.model!r} need {in_words(least)} of memory or "
            f"more, and this process may use {in_words(limit)}; {LESS}"
        )


@contextmanager
def enough_memory(spec: RunSpec) -> Iterator[None]:
    """Turn a GPU's lack of memory into a UserError."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"workers: {spec.workers} with model {spec.model!r} need more memory than the GPU has; "
            f"{LESS}"
        ) from error


Loss = Callable[[Any, torch.Tensor], torch.Tensor]


def check_outputs(
    outputs: Any, targets: torch.Tensor, task: Task, data: Dataset, key: str = "module"
) -> None:
    """Raise a UserError if the outputs do not fit the loss, where that is a default one.

    ``targets`` are those of the outputs, of ``data``; ``key`` is what made the outputs.
    """
    if (
        (classes := data.classes) is not None
        and task.loss is TASKS["classification"].loss
        and not has_logits(outputs, classes)
    ):
        raise UserError(
            f"{key}: its outputs are {shape(outputs)}; for {classes} classes they must be logits "
            f"of shape [b, {classes}] (classes are 0 to {classes - 1})."
        )
    same = isinstance(outputs, torch.Tensor) and outputs.shape == targets.shape
    if task.loss is TASKS["regression"].loss and not same:
        raise UserError(
            f"{key}: its outputs are {shape(outputs)} for targets {shape(targets)}; the "
            f"shapes must be equal for the squared error (classes are int64 targets)."
        )


def check_module(key: str, made: object) -> nn.Module:
    """The module; a one-line UserError for what workers can't train. ``key`` is what made it."""
    if not isinstance(made, nn.Module):
        raise UserError(
            f"{key}: a {type_name(made)} is not allowed; it must be a torch.nn.Module or a "
            f"function that returns one."
        )
    parameters = [parameter for parameter in made.parameters() if parameter.requires_grad]
    if any(isinstance(parameter, nn.UninitializedParameter) for parameter in made.parameters()):
        raise UserError(f"{key}: it has lazy parameters; call it on some inputs first.")
    if not parameters:
        raise UserError(f"{key}: it has no parameters to train.")
    floats = [buffer for buffer in made.buffers() if buffer.is_floating_point()]
    dtypes = {_name(tensor.dtype) for tensor in chain(made.parameters(), floats)}
    if dtypes != {"float32"}:
        raise UserError(
            f"{key}: its parameters and buffers are {', '.join(sorted(dtypes))}; they must be "
            f"float32: module.float()"
        )
    return made


def has_logits(outputs: Any, classes: int | None) -> bool:
    """Whether a module's outputs are logits ``[b, k]`` of at least as many classes, if any."""
    if classes is None or not isinstance(outputs, torch.Tensor):
        return False
    return outputs.dim() == 2 and outputs.shape[1] >= classes


@contextmanager
def refused(what: str) -> Iterator[None]:
    """Turn an error of a user's code into a UserError of one line, which begins with ``what``."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{what}: {in_a_line(error)}.") from error


def kind(tensor: torch.Tensor) -> str:
    """The type and the shape of each sample of a tensor, in words."""
    return f"{_name(tensor.dtype)} of shape {list(tensor.shape[1:])}"


def shape(value: Any) -> str:
    """The shape of a tensor, or the type of another value, in words."""
    return str(list(value.shape)) if isinstance(value, torch.Tensor) else f"a {type_name(value)}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def type_name(value: object) -> str:
    """The name of a value's type."""
    return type(value).__name__


def try_problem(
    spec: RunSpec, problem: Problem, *, module_key: str, task_key: str = "", data_key: str = ""
) -> tuple[Problem, bool]:
    """The problem, and whether its model draws from a global random stream.

    A gradient is taken on the first samples, which are then evaluated. If the outputs are no
    logits, the problem has no default score. Global random streams do not change. Raises a
    one-line UserError for a mistake, which begins with one of the keys.
    """
    data, task, size = problem.data, problem.task, spec.batch_size
    check_finite(data, task, data_key)
    outputs: Any = None
    with restored_streams():
        samples = data.train_inputs[:size].clone(), data.train_targets[:size].clone()
        with refused(f"{task_key}batch: it failed on inputs of {kind(samples[0])}"):
            inputs, targets = task.batch(data, *samples)
        with refused(f"{module_key}: it can't be built"):
            module = problem.model.build(torch.Generator(inputs.device))
        module = check_module(module_key, module).to(inputs.device)
        buffers, before = dict(module.named_buffers()), streams()
        given = (module_key, "inputs", inputs), (f"{task_key}loss or score", "targets", targets)
        kept = [tensor.clone() for _, _, tensor in given]
        for training in (True, False):
            with refused(f"{module_key}: it failed on inputs of {kind(inputs)}"):
                outputs = in_float32(module.train(training)(inputs))
            check_outputs(outputs, targets, task, data, module_key)
            what = f"it failed on outputs {shape(outputs)} and targets {shape(targets)}"
            with refused(f"{task_key}loss: {what}"):
                losses = task.loss(outputs, targets)
                if not isinstance(losses, torch.Tensor) or losses.shape != targets.shape[:1]:
                    raise UserError(
                        f"{task_key}loss: it returned {shape(losses)} for {len(targets)} samples; "
                        f"it must be one number for each."
                    )
                if training:
                    losses.mean().backward()
            if task.score is not None and task.score is not correct:
                with torch.no_grad(), refused(f"{task_key}score: {what}"):
                    task.score(outputs, targets)
        draws = streams() != before
    for (key, name, tensor), copy in zip(given, kept, strict=True):
        if not torch.equal(tensor.nan_to_num(), copy.nan_to_num()):
            raise UserError(f"{key}: it changes its {name} in place; copy them first.")
    for name, buffer in module.named_buffers():
        if buffer is not (first := buffers.get(name, buffer)) and buffer.shape == first.shape:
            raise UserError(
                f"{module_key}: its buffer {name!r} is replaced in a forward pass; change it in "
                f"place, such as self.{name.rpartition('.')[2]}.copy_(…)."
            )
    if task.score is correct and not has_logits(outputs, data.classes):
        task = replace(task, score=None)
    return replace(problem, task=task), draws


def check_finite(data: Dataset, task: Task, key: str = "") -> None:
    """Raise a UserError for inputs or targets that are NaN or infinite.

    A loss of the user's may leave out such targets.
    """
    names = ["train_inputs", "test_inputs"]
    if task.loss in [entry.loss for entry in TASKS.values()]:
        names += ["train_targets", "test_targets"]
    for name in names:
        values = getattr(data, name)
        if values.is_floating_point() and (count := int((~values.isfinite()).sum())):
            raise UserError(
                f"{key}{name.replace('_', ' ')}: {count:,} values are not finite; leave out these "
                f"samples, or replace the values."
            )


def load_problem(
    spec: RunSpec,
    root: Path,
    device: str,
    parts: Parts | None = None,
    data: Dataset | None = None,
) -> Problem:
    """The problem of a run, tried, on the data below ``root``; a one-line UserError for a mistake.

    Without ``parts`` the partition is drawn: the same that a partition file holds. Without
    ``data``, they are loaded.
    """
    data = data or loading.load(spec.dataset, root, device, spec)
    problem = make_problem(spec, data, parts or parts_by_owner(spec, root))
    check_problem(spec, problem)
    return problem


@one_intra_op_thread()
def check_problem(spec: RunSpec, problem: Problem) -> None:
    """Raise a one-line UserError unless the run's model fits its task and its data."""
    keys = f"model {spec.model!r}", f"task {spec.task!r}, ", f"dataset {spec.dataset!r}, "
    try_problem(spec, problem, module_key=keys[0], task_key=keys[1], data_key=keys[2])
