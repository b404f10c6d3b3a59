"""A user's module, loss and data as a model, a task and a data set, and a trial of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import IterableDataset, TensorDataset, default_collate

from ngo.common.registry import UserError, in_a_line, shown
from ngo.common.seeding import stream_seed
from ngo.data.dataset import Dataset, Source
from ngo.data.described import MOST_CLASSES
from ngo.data.partition import Parts
from ngo.engine.backends import in_float32
from ngo.models.layers import Dropout, freeze
from ngo.models.model import Model
from ngo.models.task import TASKS, Batch, Task, correct
from ngo.native.pool import one_intra_op_thread
from ngo.training.global_state import restored_streams, seed_streams, streams
from ngo.training.problem import Problem, batch_sizes
from ngo.training.spec import RunSpec

Make = Callable[[], nn.Module]
Loss = Callable[[Any, torch.Tensor], torch.Tensor]


def own_task(data: Dataset, loss: Loss | None, score: Loss | None = None) -> tuple[str, Task]:
    """The name of the task, and the task with the user's ``loss`` and ``score`` if there are any.

    ``loss(outputs, targets)`` returns the loss of each of b samples, ``[b]`` or ``[b, …]``, or
    their mean. By default it is the cross entropy for data with classes, and the squared error for
    other data. ``score`` likewise returns a number for each sample, or their mean.
    """
    for key, function in (("loss", loss), ("score", score)):
        if function is not None:
            _check_function(key, function)
    name = "regression" if data.classes is None else "classification"
    default = TASKS[name]
    task = replace(
        default,
        batch=default.batch if data.train_inputs.is_floating_point() else _unchanged,
        loss=default.loss if loss is None else _per_sample("loss", loss),
        score=default.score if score is None else _per_sample("score", score),
    )
    return name, task


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
        from_one = min(int(data.train_targets.min()), int(data.test_targets.min())) == 1
        hint = f" (targets are 0 to {classes - 1}; the smallest here is 1)" if from_one else ""
        raise UserError(
            f"{key}: its outputs are {shape(outputs)}; for {classes} classes they must be "
            f"logits of shape [b, {classes}]{hint}."
        )
    same = isinstance(outputs, torch.Tensor) and outputs.shape == targets.shape
    if task.loss is TASKS["regression"].loss and not same:
        raise UserError(
            f"{key}: its outputs are {shape(outputs)} for targets {shape(targets)}; the "
            f"shapes must be equal for the squared error (classes are int64 targets)."
        )


def _unchanged(data: Dataset, inputs: torch.Tensor, targets: torch.Tensor) -> Batch:
    return inputs, targets


def _check_function(key: str, function: object) -> None:
    """Raise a UserError, with examples, unless a loss or a score can be called."""
    if not callable(function) or isinstance(function, type):
        examples = {
            "loss": "torch.nn.functional.mse_loss or torch.nn.MSELoss()",
            "score": "lambda outputs, targets: outputs.argmax(1) == targets",
        }
        raise UserError(
            f"{key}: {shown(function)} is not a function (outputs, targets) or an object that can "
            f"be called; for example {key}={examples[key]}."
        )


def _per_sample(key: str, function: Loss) -> Loss:
    """A user's loss or score, checked. If it returns a mean, each sample gets that number."""

    def own_values(outputs: Any, targets: torch.Tensor) -> torch.Tensor:
        found = function(outputs, targets)
        if key == "score":
            found = torch.as_tensor(found).float()
        if not isinstance(found, torch.Tensor) or not found.is_floating_point():
            raise UserError(f"{key}: it returned a {type_name(found)}; it must be a float tensor.")
        if found.numel() == 1:
            return found.reshape(()).expand(len(targets))
        if len(found) != len(targets):
            raise UserError(
                f"{key}: it returned {shape(found)} for {len(targets)} samples; it must be their "
                f"mean, or one number for each."
            )
        return found.reshape(len(targets), -1).mean(1)

    return own_values


def template(module: nn.Module | Make, seed: int) -> nn.Module:
    """A copy of the module, or of what a function makes under the run's ``seed``.

    Raises a one-line UserError for a module that cannot be trained by workers.
    """
    made = module
    if callable(module) and not isinstance(module, nn.Module):
        with restored_streams(), refused("module: its function failed"):
            seed_streams(stream_seed(seed, "init"))
            made = module()
    trainable = check_module("module", made)
    with refused("module: it can't be copied"):
        return deepcopy(trainable)


def check_module(key: str, made: object) -> nn.Module:
    """The module; a one-line UserError for what workers can't train. ``key`` is what made it."""
    if not isinstance(made, nn.Module):
        raise UserError(
            f"{key}: a {type_name(made)} is not allowed; it must be a torch.nn.Module or a "
            f"function that returns one."
        )
    parameters = [each for each in made.parameters() if each.requires_grad]
    if any(isinstance(each, nn.UninitializedParameter) for each in made.parameters()):
        raise UserError(f"{key}: it has lazy parameters; call it on some inputs first.")
    if not parameters:
        raise UserError(f"{key}: it has no parameters to train.")
    for name, tensor in chain(made.named_parameters(), made.named_buffers()):
        if tensor.is_meta:
            raise UserError(
                f"{key}: {name!r} is on the meta device, without values; make the module on the "
                f"CPU, or call its to_empty(device='cpu') and set them."
            )
    floats = [each for each in made.buffers() if each.is_floating_point()]
    dtypes = {_name(each.dtype) for each in chain(made.parameters(), floats)}
    if dtypes != {"float32"}:
        raise UserError(
            f"{key}: its parameters and buffers are {', '.join(sorted(dtypes))}; they must be "
            f"float32: module.float()"
        )
    for name, parameter in made.named_parameters():
        if parameter.requires_grad and not bool(parameter.isfinite().all()):
            raise UserError(
                f"{key}: its parameter {name!r} has initial values that are NaN or inf."
            )
    return made


def own_model(template: nn.Module, data: Dataset, task_name: str) -> Model:
    """A model that is built as a copy of ``template``, with dropout from the worker's stream.

    Frozen parameters (``requires_grad=False``) become buffers of the copy, which no method changes
    or exchanges.
    """

    def build(generator: torch.Generator) -> nn.Module:
        module = deepcopy(template)
        freeze(module)
        _replace_dropout(module, generator)
        return module

    return Model(build, input_shape=tuple(data.train_inputs.shape[1:]), task=task_name)


def like(template: nn.Module, trained: nn.Module) -> nn.Module:
    """A copy of ``template`` in eval mode, with the parameters and buffers of ``trained``."""
    made = deepcopy(template)
    values = {**dict(trained.named_parameters()), **dict(trained.named_buffers())}
    for name, tensor in chain(made.named_parameters(), made.named_buffers()):
        tensor.data = values[name].detach().clone(memory_format=torch.contiguous_format)
        tensor.grad = None
    return made.eval()


def has_logits(outputs: Any, classes: int | None) -> bool:
    """Whether a module's outputs are logits ``[b, k]`` of at least as many classes, if any."""
    if classes is None or not isinstance(outputs, torch.Tensor):
        return False
    return outputs.dim() == 2 and outputs.shape[1] >= classes


def _replace_dropout(root: nn.Module, generator: torch.Generator) -> None:
    """Replace torch's dropout layers by the package's, which draw from ``generator``."""
    own: dict[nn.Module, Dropout] = {}
    for module in list(root.modules()):
        # Unlike named_children, this has a layer under each of its names.
        for name, child in module._modules.items():
            if (type(child) is nn.Dropout or type(child) is nn.Dropout2d) and 0 < child.p < 1:
                if child not in own:
                    channels = isinstance(child, nn.Dropout2d)
                    own[child] = Dropout(generator, child.p, channels=channels)
                    own[child].p = child.p  # type: ignore[assignment]  # modules may read it
                module._modules[name] = own[child]


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


#: Inputs and targets: two tensors or arrays, or a data set of torch.
Pair = tuple[Any, Any] | TorchDataset[Any]

NAME = "own"  # the name of the data set in ids and metrics

#: What data are made of, and how other types become such.
ARRAYS = "a tensor or a NumPy array: torch.tensor(…) and .to_numpy() make one"


def by_worker(train: object) -> tuple[Pair, Parts] | None:
    """The samples of a list of workers' own data sets, and those of each; None for other data."""
    if not isinstance(train, list | tuple) or not train or not all(map(_is_data, train)):
        return None
    pairs = [_tensors(f"train, worker {i}", each) for i, each in enumerate(train)]
    for i, pair in enumerate(pairs):
        _check_alike(f"train, worker {i}:", pair, pairs[0])
    ends = np.cumsum([0, *(len(X) for X, _ in pairs)])
    X, y = (torch.cat([x.to(each[0].device) for x in each]) for each in zip(*pairs, strict=True))
    return (X, y), [np.arange(*ends[i : i + 2]) for i in range(len(pairs))]


def own_parts(partition: Any) -> Parts:
    """The samples of each worker, from a list of lists of indices; a UserError for others."""
    try:
        parts = [np.asarray(each) for each in partition]
    except (TypeError, ValueError):
        parts = []
    whole = all(part.ndim == 1 and len(part) and part.dtype.kind in "iu" for part in parts)
    if not parts or not whole:
        raise UserError(
            "partition: it must be a name, or a list with the indices of each worker's samples, "
            "for example partition='iid' or partition=[[0, 1, 2], [3, 4, 5]]."
        )
    return [np.sort(part.astype(np.int64)) for part in parts]


def _is_data(value: object) -> bool:
    """Whether a value is a data set of torch, or a pair that starts with a tensor or an array."""
    if isinstance(value, tuple | list):
        return len(value) == 2 and isinstance(value[0], torch.Tensor | np.ndarray)
    return isinstance(value, TorchDataset)


def own_dataset(
    train: Pair, test: Pair, device: str, *, any_targets: bool = False
) -> tuple[Dataset, Source]:
    """Training and test samples as a data set on ``device``.

    Each is a pair (inputs, targets) of tensors or arrays, or a data set of torch with such samples.
    Targets are int64 class numbers ``[m]`` or float32 ``[m, …]``; ``any_targets`` allows others,
    and then int64 targets ``[m]`` are classes if they can be. Raises a one-line UserError for
    anything else.
    """
    X, y = _tensors("train", train)
    X_test, y_test = _tensors("test", test)
    _check_alike("test", [X_test, y_test], [X, y])
    classes = None
    if y.dtype == torch.int64 and y.dim() == 1:
        least, most = int(min(y.min(), y_test.min())), int(max(y.max(), y_test.max()))
        if least < 0 and not any_targets:
            raise UserError(f"targets: {least} is not a class; int64 classes start from 0.")
        if least >= 0 and (most < MOST_CLASSES or not any_targets):
            classes = most + 1
    elif y.dtype == torch.float64 and not any_targets:
        raise _float64("targets")
    elif y.dtype != torch.float32 and not any_targets:
        raise UserError(
            f"targets: each is {kind(y)}; without loss=… they must be classes (int64 of shape "
            f"[m]) or numbers (float32)."
        )
    # Copies: neither the caller's functions nor the caller change data between two steps.
    X, y, X_test, y_test = (x.to(device, copy=True) for x in (X, y, X_test, y_test))
    data = Dataset(NAME, classes, X, y, X_test, y_test, mean=None, std=None)
    # It has no functions that read files.
    source = Source(None, None, len(X), tuple(X.shape[1:]), classes)  # type: ignore[arg-type]
    return data, source


def _check_alike(key: str, pair: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> None:
    for name, one, other in zip(("inputs", "targets"), like, pair, strict=True):
        if one.shape[1:] != other.shape[1:] or one.dtype != other.dtype:
            raise UserError(
                f"{key} {name}: each is {kind(other)}; they must be like those for training, each "
                f"{kind(one)}."
            )


def _tensors(key: str, pair: object) -> list[torch.Tensor]:
    """Inputs and targets."""
    if isinstance(pair, TorchDataset):
        pair = _collected(key, pair)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise UserError(
            f"{key}: a {type_name(pair)} is not a pair (inputs, targets) or a torch Dataset; of a "
            f"DataLoader, give loader.dataset."
        )
    X, y = _tensor(f"{key} inputs", pair[0]), _tensor(f"{key} targets", pair[1])
    if X.dtype == torch.float64:
        raise _float64(f"{key} inputs")
    if len(X) != len(y) or len(X) == 0:
        raise UserError(
            f"{key}: there are {len(X)} inputs and {len(y)} targets; their numbers must be equal, "
            f"and at least 1."
        )
    return [X, y]


def _tensor(key: str, value: object) -> torch.Tensor:
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        try:
            # A copy: it may be read-only. torch has numbers in the machine's order of bytes alone.
            native = np.array(value, value.dtype.newbyteorder("="), order="C")
            value = torch.from_numpy(native)
        except TypeError as error:
            wanted = "float32" if key.endswith("inputs") else "int64 (classes) or float32"
            raise UserError(f"{key}: {value.dtype} is not allowed; it must be {wanted}.") from error
    if not isinstance(value, torch.Tensor):
        raise UserError(f"{key}: a {type_name(value)} is not allowed; it must be {ARRAYS}.")
    if value.is_nested or value.layout != torch.strided or value.is_quantized or value.is_meta:
        raise UserError(
            f"{key}: a tensor that is nested, sparse, quantized or meta is not allowed; it must be "
            f"a dense one of plain numbers."
        )
    if value.dim() == 0:
        raise UserError(f"{key}: a single number is not allowed; it must have a row per sample.")
    value = value.clone() if value.is_inference() else value.detach()  # for autograd
    return value.contiguous()


def _float64(key: str) -> UserError:
    return UserError(
        f"{key}: float64 is not allowed; it must be float32: .float(), or .astype('float32')."
    )


def _collected(key: str, data: TorchDataset[Any]) -> tuple[Any, Any]:
    """All samples of a data set, each read once."""
    if type(data) is TensorDataset and len(data.tensors) == 2:
        return data.tensors[0], data.tensors[1]
    if isinstance(data, IterableDataset) or not hasattr(data, "__len__"):
        raise UserError(
            f"{key}: a {type_name(data)} has no length; collect its samples first: "
            f"torch.utils.data.default_collate(list(data)) is a pair of tensors."
        )
    with refused(f"{key}: the {type_name(data)} failed"):
        samples = [data[i] for i in range(len(data))]
    if not samples:
        raise UserError(f"{key}: the {type_name(data)} has no samples.")
    if not isinstance(samples[0], tuple | list) or len(samples[0]) != 2:
        raise UserError(
            f"{key}: a sample of the {type_name(data)} is a {type_name(samples[0])}; it must be a "
            f"pair (input, target)."
        )
    made = []
    for name, values in zip(("inputs", "targets"), zip(*samples, strict=True), strict=True):
        first = values[0]
        known = isinstance(first, torch.Tensor | np.ndarray | np.generic | int | float)
        if not known or isinstance(first, np.ma.MaskedArray):
            raise UserError(
                f"{key} {name}: each is a {type_name(first)}; it must be a number, or {ARRAYS}."
            )
        with refused(f"{key} {name}: the samples of the {type_name(data)} can't be stacked"):
            stacked = default_collate(list(values))
        made.append(stacked.float() if isinstance(first, float) else stacked)
    return made[0], made[1]


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
        module = built(model, inputs.device, names)
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
    given = [each.clone() if isinstance(each, torch.Tensor) else each for each in values.values()]
    with refused(f"{key}: {what}"):
        found = function(*given)
    for (name, value), its in zip(values.items(), given, strict=True):
        if isinstance(value, torch.Tensor) and not _equal(its, value):
            raise UserError(f"{key}: it changes its {name} in place; copy them first.")
    return found


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one shape are equal, where NaN equals NaN."""
    return bool(((one == other) | ((one != one) & (other != other))).all())


@contextmanager
def _steady_buffers(key: str, module: nn.Module) -> Iterator[None]:
    """Raise a UserError for a buffer whose changes in the block its workers can't share."""
    before = {name: (each, each.clone()) for name, each in module.named_buffers()}
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
                f"can't have one for all workers: it is {str(buffer.dtype).removeprefix('torch.')}"
                f"; it must be float32 (their mean) or int64 (their maximum)."
            )


def built(model: Model, device: torch.device, names: Names) -> nn.Module:
    """The module of a model; a one-line UserError if it can't be trained."""
    with refused(f"{names.module}: it can't be built"):
        module = model.build(torch.Generator(device))
    return check_module(names.module, module).to(device)


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


def refuse_not_finite(
    model: Model, data: Dataset, task: Task, size: int, names: Names = OWN
) -> None:
    """Raise a UserError for inputs or targets that are not finite, and make a loss or gradient so.

    A module may replace such inputs, and a loss may leave out such targets: at most ``size`` of the
    samples with NaN are tried, and as many with each infinity.
    """
    for key, inputs, targets in (
        ("train", data.train_inputs, data.train_targets),
        ("test", data.test_inputs, data.test_targets),
    ):
        for name, values in (("inputs", inputs), ("targets", targets)):
            if not values.is_floating_point() or bool(values.isfinite().all()):
                continue
            for wrong in (values.isnan(), values == math.inf, values == -math.inf):
                rows = wrong.reshape(len(wrong), -1).any(1).nonzero()[:size, 0]
                what = f"{names.data}{key}: the {name}"
                if len(rows) and not _finite(model, data, task, inputs[rows], targets[rows], names):
                    count = int((~values.isfinite()).sum())
                    raise UserError(
                        f"{what} have {count:,} value{'s' * (count > 1)} that "
                        f"{'are' if count > 1 else 'is'} not finite; leave out these samples, or "
                        f"replace the values."
                    )


def _finite(
    model: Model,
    data: Dataset,
    task: Task,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    names: Names,
) -> bool:
    """Whether the loss on these samples, and its gradient, are finite; False if it fails."""
    with restored_streams():
        module = built(model, inputs.device, names).eval()
        try:
            inputs, targets = task.batch(data, inputs, targets)
            losses = task.loss(in_float32(module(inputs)), targets)
            losses.mean().backward()
        except Exception:  # any error of the module or the loss, at such values
            return False
    gradients = [each.grad for each in module.parameters() if each.grad is not None]
    return all(bool(each.isfinite().all()) for each in (losses, *gradients))


@one_intra_op_thread()
def check_problem(spec: RunSpec, problem: Problem) -> None:
    """Raise a one-line UserError unless the run's model fits its task and its data.

    A gradient is taken on the first samples, as ``fit`` does. Global random streams do not change.
    """
    names = Names(f"model {spec.model!r}", f"task {spec.task!r}, ", f"dataset {spec.dataset!r}, ")
    size = min(batch_sizes(spec, problem.parts))
    try_out(problem.model, problem.data, problem.task, size, names)
    refuse_not_finite(problem.model, problem.data, problem.task, size, names)
