"""What a run needs to start: memory, and a model, a task and data that go together.

A gradient is taken on the first samples, as in the first step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
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
from ngo.gossip.method import METHODS
from ngo.gossip.schedule import topologies
from ngo.gossip.step import LOCAL_RULES
from ngo.gossip.topology import TOPOLOGIES
from ngo.models.model import Model
from ngo.models.task import TASKS, Task, correct
from ngo.native.threads import cores, one_intra_op_thread
from ngo.training.interpreter_state import restored_streams, streams
from ngo.training.learning_problem import Problem, make_problem
from ngo.training.partition_file import parts_by_owner
from ngo.training.spec import RunSpec

# Bytes of a process that has imported torch, and of a worker's module and random streams beside its
# parameters. Both are measured.
PROGRAM = 300_000_000
WORKER = 60_000

# The models of each worker that an asynchronous run in virtual time keeps, about.
KEPT = 5

# Bytes of a directed edge: its ends and weight, the same of its pair, and what makes them.
EDGE = 80

FLOAT = 4  # bytes of a parameter


def run_memory(
    spec: RunSpec, problem: Problem, workers: int | None = None, threads: int | None = None
) -> dict[str, int]:
    """The bytes that a run needs on its problem, about, by what they are for.

    ``workers`` is the number of those in this process, by default all. The model is built once,
    and passes one test sample; global random streams do not change.
    """
    n, b = workers or spec.workers, spec.batch_size
    sample = problem.test[0][0][:1]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        module = problem.model.build(torch.Generator()).eval()
        outputs = _outputs(module, sample.cpu())
    rows = n * sum(map(torch.numel, module.parameters())) * FLOAT
    data, methods, rules = problem.data, METHODS[spec.method], LOCAL_RULES[spec.local_rule]
    arrays = (data.train_inputs, data.train_targets, data.test_inputs, data.test_targets)
    # Of a batch, the outputs of layers and their gradients; in an evaluation, the outputs alone.
    passes = max(2 * b, problem.model.chunk_on(problem.device)) * outputs
    return {
        "program": PROGRAM,
        "data": sum(array.nbytes for array in arrays) + len(data.test_inputs) * sample.nbytes,
        "parameters and gradients": 2 * rows,
        "matrices of the method": (methods.matrices_of(spec) + rules.matrices) * rows,
        "sent models": KEPT * rows if spec.clock == "asynchronous" else 0,
        "edges": EDGE * _edges(spec),
        "modules": n * WORKER,
        "batches": n * b * (sample.nbytes + data.train_inputs[:1].nbytes),
        "outputs of layers": min(threads or cores(), n) * passes,
    }


LESS = "use fewer workers, a smaller model or a smaller batch_size."


def check_memory(spec: RunSpec, memory: dict[str, int]) -> None:
    """Raise a UserError if a run needs more memory than the process may use."""
    limit, total = memory_limit(), sum(memory.values())
    if total > limit:
        largest = sorted(memory.items(), key=lambda part: -part[1])[:3]
        told = ", ".join(f"{what} {in_words(size)}" for what, size in largest)
        raise UserError(
            f"workers: {spec.workers} with model {spec.model!r} need about {in_words(total)} "
            f"({told}, …) of memory, and this process may use {in_words(limit)}; {LESS}"
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


def _edges(spec: RunSpec) -> int:
    """The directed edges of the graph of all workers, where it is dense."""
    most = 0.0
    for topology in map(TOPOLOGIES.__getitem__, topologies(spec)):
        values = {name: getattr(spec, name) for name in topology.fields}
        most = max(most, topology.expected_edges(spec.workers, **values))
    return round(most)


def _outputs(module: nn.Module, inputs: torch.Tensor) -> int:
    """The bytes of the outputs of all layers, for ``inputs``."""
    sizes: list[int] = []

    def note(layer: nn.Module, given: object, outputs: object) -> None:
        if isinstance(outputs, torch.Tensor):
            sizes.append(outputs.nbytes)

    for layer in module.modules():
        layer.register_forward_hook(note)
    module(inputs)
    return sum(sizes)


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


@dataclass(frozen=True)
class Names:
    """What messages call the module, the loss, the score and the data."""

    module: str = "module"
    task: str = ""
    data: str = ""

    def of(self, part: str) -> str:
        """The name of the ``loss``, the ``score`` or another part of the task."""
        return f"{self.task}{part}"


#: In ``fit``, which takes one module, loss and pair of data sets.
OWN = Names()


def try_out(
    model: Model, data: Dataset, task: Task, size: int, names: Names = OWN
) -> tuple[Task, bool]:
    """Take a gradient of the model on the first ``size`` samples, and evaluate it on them.

    Returns the task, without the default score if the outputs are not logits; and whether torch's,
    NumPy's or Python's global random stream was drawn from.
    Raises a one-line UserError for a mistake.
    """
    samples = data.train_inputs[:size], data.train_targets[:size]
    outputs: Any = None
    with restored_streams():
        what, batch = f"it failed on inputs of {kind(samples[0])}", partial(task.batch, data)
        given = {"inputs": samples[0], "targets": samples[1]}
        inputs, targets = _called(names.of("batch"), what, batch, given)
        with refused(f"{names.module}: it can't be built"):
            module = model.build(torch.Generator(inputs.device))
        module = check_module(names.module, module).to(inputs.device)
        before = streams()
        for training in (True, False):
            module.train(training)
            with _steady_buffers(names.module, module):
                what = f"it failed on inputs of {kind(inputs)}"
                outputs = _called(
                    names.module, what, lambda x: in_float32(module(x)), {"inputs": inputs}
                )
            check_outputs(outputs, targets, task, data, names.module)
            what = f"it failed on outputs {shape(outputs)} and targets {shape(targets)}"
            given = {"outputs": outputs, "targets": targets}
            losses = _called(names.of("loss"), what, task.loss, given)
            if not isinstance(losses, torch.Tensor) or losses.shape != targets.shape[:1]:
                raise UserError(
                    f"{names.of('loss')}: it returned {shape(losses)} for {len(targets)} samples; "
                    f"it must be one number for each."
                )
            with refused(f"{names.of('loss')}: {what}"):
                if training:
                    losses.mean().backward()
            if task.score is not None and task.score is not correct:
                with torch.no_grad():
                    _called(names.of("score"), what, task.score, given)
        draws = streams() != before
    if task.score is correct and not has_logits(outputs, data.classes):
        task = replace(task, score=None)
    return task, draws


def _called(key: str, what: str, function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """What a user's function returns for copies of the values, of which only tensors are copied.

    A UserError if it fails, with ``what``, or if it changes one of them in place.
    """
    given = [
        value.clone() if isinstance(value, torch.Tensor) else value for value in values.values()
    ]
    with refused(f"{key}: {what}"):
        returned = function(*given)
    for (name, value), passed in zip(values.items(), given, strict=True):
        if isinstance(value, torch.Tensor) and not _equal(passed, value):
            raise UserError(f"{key}: it changes its {name} in place; copy them first.")
    return returned


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one shape are equal, where NaN equals NaN."""
    return bool(((one == other) | ((one != one) & (other != other))).all())


@contextmanager
def _steady_buffers(key: str, module: nn.Module) -> Iterator[None]:
    """Raise a UserError for a buffer whose changes in the block its workers can't share."""
    before = {name: (buffer, buffer.clone()) for name, buffer in module.named_buffers()}
    yield
    for name, buffer in module.named_buffers():
        known, value = before.get(name, (buffer, buffer))
        if buffer.shape != value.shape or torch.equal(buffer, value):
            continue
        if buffer is not known:
            raise UserError(
                f"{key}: its buffer {name!r} is replaced in a forward pass; change it in place, "
                f"such as self.{name.rpartition('.')[2]}.copy_(…)."
            )
        if buffer.dtype not in (torch.float32, torch.int64):
            raise UserError(
                f"{key}: its buffer {name!r} changes in a forward pass, and the consensus model "
                f"can't have one for all workers: it is {_name(buffer.dtype)}; it must be float32 "
                f"(their mean) or int64 (their maximum)."
            )


@torch.no_grad()
def refuse_sum(
    key: str, function: Loss, model: Model, inputs: torch.Tensor, targets: torch.Tensor
) -> None:
    """Raise a UserError for a loss or score that doubles when each sample comes twice: a sum.

    It is tried on these samples, with the model in eval mode. The gradient of a sum grows with the
    batch, and with it the effective learning rate; a score would be no mean over samples.
    """
    with restored_streams():
        module = model.build(torch.Generator(inputs.device)).to(inputs.device).eval()
        once, twice = (
            torch.as_tensor(
                function(in_float32(module(torch.cat([inputs] * k))), torch.cat([targets] * k))
            )
            for k in (1, 2)
        )
    if twice.numel() > 1:  # one number for each sample
        return
    how = " (reduction='mean' or 'none')"
    if once != 0 and math.isclose(twice, 2 * once, rel_tol=1e-3):
        raise UserError(
            f"{key}: it is {float(once):.4g} on {len(inputs)} samples and {float(twice):.4g} if "
            f"each comes twice, a sum; it must be their mean, or one number for each"
            f"{how if key == 'loss' else ''}."
        )


def check_finite(data: Dataset, task: Task, names: Names = OWN) -> None:
    """Raise a UserError for inputs or targets that are NaN or infinite.

    A loss of the user's may leave out such targets.
    """
    is_own_loss = task.loss not in [entry.loss for entry in TASKS.values()]
    for name, values in {
        "train: the inputs": data.train_inputs,
        "test: the inputs": data.test_inputs,
        "train: the targets": data.train_targets,
        "test: the targets": data.test_targets,
    }.items():
        count = int((~values.isfinite()).sum()) if values.is_floating_point() else 0
        if count and not (is_own_loss and "targets" in name):
            raise UserError(
                f"{names.data}{name} have {count:,} value{'s' * (count > 1)} that "
                f"{'are' if count > 1 else 'is'} not finite; leave out these samples, or replace "
                f"the values."
            )


#: The number of test samples on which a score is tried.
SCORED = 256


def try_problem(
    spec: RunSpec, problem: Problem, functions: Mapping[str, Loss | None], names: Names = OWN
) -> tuple[Problem, bool]:
    """The problem, and whether its model draws from a global random stream.

    A gradient is taken on the first samples. If the outputs are no logits, the problem has no
    default score. ``functions`` are a user's ``loss`` and ``score``, if any: neither may be a sum.
    Global random streams do not change. Raises a one-line UserError for a mistake.
    """
    model, data = problem.model, problem.data
    size = spec.batch_size
    task, draws = try_out(model, data, problem.task, size, names)
    check_finite(data, problem.task, names)
    samples = {"loss": (data.train_inputs[:size], data.train_targets[:size])}
    # On more samples: of a few, an untrained model may get none right.
    samples["score"] = data.test_inputs[:SCORED], data.test_targets[:SCORED]
    for key, function in functions.items():
        if function is not None:
            refuse_sum(key, function, model, *samples[key])
    return replace(problem, task=task), draws


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
    names = Names(f"model {spec.model!r}", f"task {spec.task!r}, ", f"dataset {spec.dataset!r}, ")
    try_problem(spec, problem, {}, names)
