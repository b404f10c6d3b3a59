"""The learning problem of a run: its data, their partition among workers, its model and loss.

A run needs enough memory, and a model, a task and data that go together: a gradient is taken on the
first samples, as in the first step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.forward_ad import dual_level
from torch.testing import assert_close

from ngo.common.memory import in_words, memory_limit
from ngo.common.registries import MODELS, OBJECTIVES, TASKS
from ngo.data import loading
from ngo.data.dataset import Dataset, test_samples
from ngo.data.partition import Parts, samples_by_class
from ngo.engine.backends import backward, in_float32, restored
from ngo.engine.global_draws import Functions
from ngo.engine.population import Population, named_tensors, tensors
from ngo.models.model import Model
from ngo.models.task import Batch, Task, correct, cross_entropy, over_tensors, squared_error
from ngo.native.threads import one_intra_op_thread
from ngo.training.evaluation import evaluated_workers
from ngo.training.global_state import comparable, restored_streams, seed_streams, stream_states
from ngo.training.partition_file import parts_by_owner
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import check_share, draw, held_out, smallest_share
from verdicts.registry import UserError, in_a_line

#: Inputs and targets as one forward pass after another takes them.
Chunks = tuple[list[Tensor], list[Tensor]]


@dataclass(frozen=True)
class Problem:
    """The data, the partition, the model and the loss of a run."""

    model: Model
    task: Task
    #: Training and test tensors, on the run's device.
    data: Dataset
    #: The training samples of each worker, as indices into ``data``.
    parts: Parts
    #: The number of samples that workers own, and of their classes (None without classes).
    owned: int
    classes_covered: int | None
    #: The workers that evaluations score.
    evaluated: list[int]
    #: The step after which the run ends.
    last_step: int
    #: The samples of evaluations: the test set at the last step, a part of it (or all) before
    #: that, and the held-out training samples, if there are any.
    test: Chunks
    test_part: Chunks
    holdout: Chunks | None
    #: The test samples of each worker, where each has its own: those of ``test`` in parts.
    own_tests: Sequence[Chunks] = ()
    #: What each worker counts for, w ``[n]``, float64, with the sum 1; None if all count equally.
    shares: Tensor | None = None

    @property
    def device(self) -> torch.device:
        """The device of the data."""
        return self.data.train_inputs.device

    def test_at(self, step: int) -> Chunks:
        """The test samples of the evaluation at ``step``."""
        return self.test if step == self.last_step else self.test_part

    def restricted_to(self, workers: Sequence[int]) -> Problem:
        """The same problem with the training samples of some ``workers`` only."""
        kept = np.concatenate([self.parts[i] for i in workers])
        rows = torch.from_numpy(kept).to(self.device)
        inputs, targets = self.data.train_inputs[rows], self.data.train_targets[rows]
        data = replace(self.data, train_inputs=inputs, train_targets=targets)
        ends = np.cumsum([len(self.parts[i]) for i in workers])
        return replace(self, data=data, parts=np.split(np.arange(len(kept)), ends[:-1]))


def make_problem(
    spec: RunSpec,
    data: Dataset,
    parts: Parts | None = None,
    *,
    model: Model | None = None,
    task: Task | None = None,
    own_tests: Sequence[int] = (),
) -> Problem:
    """The problem of a run on its data set; a UserError if a worker cannot fill a batch.

    Without ``parts`` the partition is drawn here: the same that a partition file holds. Without
    ``model`` and ``task``, the run names them. ``own_tests`` are the numbers of test samples of the
    workers, in order, where each has its own.
    """
    model, task, labels = model or MODELS[spec.model], task or TASKS[spec.task], data.labels
    parts = draw(spec, labels) if parts is None else parts
    check_share(spec, *smallest_share(parts))
    held = torch.from_numpy(held_out(spec, len(data.train_inputs))).to(data.train_inputs.device)

    def chunks(inputs: Tensor, targets: Tensor) -> Chunks:
        size = model.chunk_on(inputs.device)
        pairs = zip(inputs.split(size), targets.split(size), strict=True)
        batches = [task.batch(data, *pair) for pair in pairs]
        return [batch for batch, _ in batches], [batch for _, batch in batches]

    owned, classes = sum(map(len, parts)), data.classes
    covered = classes and int(samples_by_class(labels, parts, classes).any(0).sum())
    test = test_part = chunks(data.test_inputs, data.test_targets)
    if 0 < spec.eval_images < len(data.test_inputs):
        part = torch.from_numpy(test_samples(data, spec.eval_images)).to(data.test_inputs.device)
        test_part = chunks(data.test_inputs[part], data.test_targets[part])
    own = (x.split(list(own_tests)) for x in (data.test_inputs, data.test_targets) if own_tests)
    holdout = chunks(data.train_inputs[held], data.train_targets[held]) if len(held) else None
    facts: dict[str, Any] = {"owned": owned, "classes_covered": covered}
    facts |= {"evaluated": evaluated_workers(spec), "last_step": spec.steps(owned)}
    facts |= {"test": test, "test_part": test_part, "holdout": holdout}
    facts |= {"own_tests": list(map(chunks, *own)) if own_tests else ()}
    return Problem(model, task, data, parts, **facts, shares=_shares(spec, parts))


def _shares(spec: RunSpec, parts: Parts) -> Tensor | None:
    if (weigh := OBJECTIVES[spec.objective]) is None:
        return None
    weights = torch.as_tensor(weigh(np.array([len(part) for part in parts])), dtype=torch.float64)
    if len(weights) != len(parts):
        raise UserError(f"objective: there are {len(weights)} numbers for {len(parts)} workers.")
    return weights / weights.sum()


def load_problem(
    spec: RunSpec, root: Path, device: str, parts: Parts | None = None, data: Dataset | None = None
) -> Problem:
    """The problem of a run, tried, on the data below ``root``; a one-line UserError for a mistake.

    Without ``parts`` the partition is drawn: the same that a partition file holds. Without
    ``data``, they are loaded.
    """
    data = data or loading.load(spec.dataset, root, device, spec)
    problem = make_problem(spec, data, parts or parts_by_owner(spec, root))
    problem, others = try_problem(spec, problem)
    if others:
        raise UserError(
            f"model {spec.model!r}: it draws from a global random stream of Python, NumPy or "
            f"another device; draw from the generator that it is built with, or by torch."
        )
    return problem


LESS = "use fewer workers, a smaller model or a smaller batch_size."


def check_memory(spec: RunSpec, problem: Problem, workers: int) -> None:
    """Raise a UserError if so many workers have more parameters than the machine's memory holds.

    The least that a run needs are parameters, gradients and one matrix of the method, in float32.
    """
    with torch.random.fork_rng(devices=[]):
        module = problem.model.build(torch.Generator())
    least = 3 * 4 * workers * sum(map(torch.numel, named_tensors(module)[0].values()))
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
            f"workers: {spec.workers} with model {spec.model!r} exceed the GPU's memory; {LESS}"
        ) from error


Loss = Callable[[Any, Tensor], Tensor]


def check_outputs(key: str, outputs: Any, targets: Tensor, task: Task, classes: int | None) -> None:
    """Raise a UserError if a default loss can't take these outputs and targets.

    The error begins with ``key``, the name of what made the outputs. ``classes`` is the number of
    classes; None for other targets.
    """
    its = f"{key}: its outputs are {shape(outputs)}"
    if classes and task.loss is cross_entropy and not has_logits(outputs, classes):
        logits = f"logits of shape [b, {classes}] (classes are 0 to {classes - 1})"
        raise UserError(f"{its}; for {classes} classes they must be {logits}.")
    if task.loss is squared_error and shape(outputs) != shape(targets):
        raise UserError(
            f"{its} for targets {shape(targets)}; the shapes must be equal for the squared error "
            f"(classes are int64 targets)."
        )


def check_module(key: str, made: object) -> nn.Module:
    """The module; a one-line UserError for what workers can't train. ``key`` is what made it."""
    told = "it must be a torch.nn.Module or a function that returns one"
    if not isinstance(made, nn.Module):
        raise UserError(f"{key}: {type(made).__name__} is not allowed; {told}.")
    if any(isinstance(layer, torch.jit.ScriptModule) for layer in made.modules()):
        told = "its copies can't be trained; give the module that it was made of"
        raise UserError(f"{key}: it is or has a module of TorchScript, and {told}.")
    if any(isinstance(parameter, nn.UninitializedParameter) for parameter in made.parameters()):
        raise UserError(f"{key}: it has lazy parameters; call it on some inputs first.")
    if not any(parameter.requires_grad for parameter in made.parameters()):
        raise UserError(f"{key}: it has no parameters to train.")
    if any(x.layout != torch.strided for x in [*made.parameters(), *made.buffers()]):
        raise UserError(f"{key}: it has a sparse tensor; make it dense: tensor.to_dense().")
    floats = [buffer for buffer in made.buffers() if buffer.is_floating_point()]
    dtypes = sorted({str(x.dtype).removeprefix("torch.") for x in [*made.parameters(), *floats]})
    if dtypes != ["float32"]:
        how = "torch.view_as_complex of pairs" if "complex64" in dtypes else "module.float()"
        raise UserError(f"{key}: its tensors are {', '.join(dtypes)}; they must be float32: {how}")
    return made


def _check_apart(key: str, one: nn.Module, other: nn.Module) -> None:
    """Raise a UserError if two modules, of two workers, have a trained parameter in common."""
    trained, others = named_tensors(one)[0], named_tensors(other)[0]
    first = set(map(id, trained.values()))
    if shared := [name for name, tensor in others.items() if id(tensor) in first]:
        told = "is the same in each module that it builds; each worker needs its own"
        raise UserError(f"{key}: its tensor {shared[0]!r} {told}: copy.deepcopy(…), for example.")


def has_logits(outputs: Any, classes: int | None) -> bool:
    """Whether a module's outputs are logits ``[b, k]`` of at least as many classes, if any."""
    is_matrix = isinstance(outputs, Tensor) and outputs.dim() == 2
    return is_matrix and classes is not None and outputs.shape[1] >= classes


@contextmanager
def refused(what: str) -> Iterator[None]:
    """Turn an error of a user's code into a UserError of one line, which begins with ``what``."""
    try:
        yield
    except (UserError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise UserError(f"{what}: {in_a_line(error)}.") from error


def kind(tensor: Tensor) -> str:
    """The type and the shape of each sample of a tensor, in words."""
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {list(tensor.shape[1:])}"


def shape(value: Any) -> str:
    """The shape of a tensor, or the type of another value, in words."""
    return str(list(value.shape)) if isinstance(value, Tensor) else f"a {type(value).__name__}"


def _check_trained(key: str, module: nn.Module, losses: Tensor) -> None:
    """Raise a UserError if the loss depends on parameters that are none of the module's."""
    own, seen, new = set(map(id, module.parameters())), set[Any](), {losses.grad_fn}
    while new := new - seen - {None}:
        seen |= new
        new = {before for node in new if node for before, _ in node.next_functions}
    for leaf in (getattr(node, "variable", None) for node in seen):
        if isinstance(leaf, nn.Parameter) and id(leaf) not in own:
            raise UserError(
                f"{key}: its loss depends on a parameter {shape(leaf)} that it does not have, and "
                "that is not trained: in a list (use nn.ModuleList), in a lambda, or in the loss; "
                "requires_grad_(False) makes it a constant."
            )


def _check_kept(key: str, population: Population, inputs: Tensor) -> None:
    """Raise a UserError if the first worker's module, which was used, differs from the second's
    with the same tensors, or if one changes these in evaluation.
    """
    population.X.mul_(1.5)  # changed as by a step
    X, _, *others = population.rows()
    kept = [(rows, rows[0].clone()) for rows in (X, *others)]
    for training in (False, True):
        found = []
        for rows, row in kept:
            rows.copy_(row.expand_as(rows))
        for module, generator in zip(population.modules, population.generators, strict=True):
            seed_streams(0)
            generator.manual_seed(0)
            with population.drawing(generator):
                found.append(module.train(training)(inputs.clone()))
        now, then = zip(*((rows[0], row) for rows, row in kept[:3]), strict=True)
        for one, other in zip(population.views_of(*now), population.views_of(*then), strict=True):
            for name in [x for x in one if not (training or torch.equal(one[x], other[x]))]:
                told = "changes in evaluation, which would change the run; see self.training"
                raise UserError(f"{key}: its tensor {name!r} {told}.")
        told = "its outputs depend on what it keeps from call to call elsewhere than in float32 and"
        told += " int64 buffers, which alone reach checkpoints and the mean model"
        _check_equal(key, told, found[0], found[1], 1e-4)


def _alike(population: Population, inputs: Tensor, targets: Tensor) -> bool:
    """Whether the first worker's gradient and evaluation are as in one thread, where its module may
    also read, set and fork the stream that it draws from.
    """
    found, module = [], population.modules[0]
    for threads in (1, 2):
        population.threads = threads
        seed_streams(0)
        population.generators[0].manual_seed(0)
        with restored(population):
            module.train()
            loss = backward(population, 0, inputs.clone(), targets.clone())
            ((each, _),) = population.module_sums([module.eval()], [inputs], [targets])
            found.append(torch.cat([loss.reshape(1), population.G[0], loss.new_tensor([each])]))
    return torch.equal(*(values.nan_to_num() for values in found))


def _streams(population: Population) -> dict[str, Any]:
    """The states of the global random streams, and of the workers' own, to be compared."""
    own = [population.noise, *(generator.get_state() for generator in population.generators)]
    return comparable({**stream_states(), "own": own})


def try_problem(spec: RunSpec, problem: Problem, *, by_name: bool = True) -> tuple[Problem, bool]:
    """The problem, and whether its model draws from another global random stream than torch's.

    A gradient is taken on the first samples, which are then evaluated. If the outputs are no
    logits, the problem has no default score. Global random streams do not change. Raises a
    one-line UserError for a mistake, which begins with the part that made it: ``by_name``, or with
    the argument of ``fit``, whose module, loss or score may fail but in torch's layout. Draws of
    torch are a worker's, in the first of three ways, each slower: those of dropout's layers; those
    of functions, too; all, in one thread, as needed to draw the same again, by checkpoints, say.
    """
    ways: Any = [{}, {"draws": True, "functions": set()}, {"draws": True, "functions": None}]
    layouts = [problem.model.contiguous, *([] if by_name else [True])]
    for contiguous in layouts:
        with suppress(UserError) if contiguous is not layouts[-1] else nullcontext():
            while True:
                model = replace(problem.model, contiguous=contiguous, **ways[0])
                with suppress(UserError) if len(ways) == 2 else nullcontext():
                    if tried := _tried(spec, replace(problem, model=model), by_name):
                        return tried
                ways.pop(0)  # also for the other layout
    raise AssertionError


@one_intra_op_thread()
def _tried(spec: RunSpec, problem: Problem, by_name: bool) -> tuple[Problem, bool] | None:
    """``try_problem`` in one way; None if the model draws otherwise."""
    module_key = f"model {spec.model!r}" if by_name else "module"
    task_key = f"task {spec.task!r}, " if by_name else ""
    model, data, task, size = problem.model, problem.data, problem.task, spec.batch_size
    check_finite(data, task, f"dataset {spec.dataset!r}, " if by_name else "")
    with restored_streams():
        seed_streams(0)  # a module that draws only sometimes is tried alike in each process
        few = data.train_inputs[:size], data.train_targets[:size]
        samples = few[0].clone(), few[1].clone()
        with refused(f"{task_key}batch: it failed on inputs of {kind(samples[0])}"):
            inputs, targets = task.batch(data, *samples)
            other = task.batch(data, few[0].clone(), few[1].clone())
        told = "it gives other values when it is asked again, or changes the data; they must depend"
        told += " on the samples alone"
        _check_equal(f"{task_key}batch", told, (inputs, targets, *samples), (*other, *few))
        with refused(f"{module_key}: it can't be built"):
            built = comparable(stream_states())
            check_module(module_key, model.build(torch.Generator(inputs.device)))
            now = comparable(stream_states())
            initialized = any(built[name] != now[name] for name in ("python", "numpy"))
            made: Any = {"device": inputs.device, "backend": "loop", "threads": 2}
            population = Population(model, 2, 0, task=replace(task, score=None), **made)
        module, _ = population.modules
        places = {name: (x, x.data_ptr()) for name, x in tensors(module).items()}
        loss, device = f"{task_key}loss", inputs.device
        before, after = _streams(population), dict[str, Any]()
        threaded = model.functions is not None
        within: Any = nullcontext()
        if tries := model.draws and threaded:
            within = Functions(torch.Generator(device), model.functions, tries=True)
        given = (module_key, "inputs", inputs), (loss, "targets", targets)
        kept = [tensor.clone() for _, _, tensor in given]
        for training in (True, False):
            with refused(f"{module_key}: it failed on inputs of {kind(inputs)}"), within:
                outputs = in_float32(module.train(training)(inputs))
            check_outputs(module_key, outputs, targets, task, data.classes)
            of = f"outputs {shape(outputs)} and targets {shape(targets)}"
            with refused(f"{loss}: it failed on {of}"):
                with within:
                    losses = _numbers(loss, task.loss, bool(task_key), outputs, targets)
                if training:
                    _check_trained(module_key, module, losses)
                    drawn = _streams(population)
                    losses.mean().backward()
                    again = (after := _streams(population)) != drawn  # by checkpoints, say
        now = _streams(population)
        torchs = "gpus" if device.type == "cuda" else "torch"
        others = any(now[name] != before[name] for name in now if name not in (torchs, "own"))
        others = others or (by_name and initialized)  # by fit, these are seeded
        if threaded and (again or now[torchs] != before[torchs]):
            return None
        for (key, name, tensor), copy in zip(given, kept, strict=True):
            _check_equal(key, f"it changes its {name} in place; copy them first", tensor, copy)
        for name, tensor in tensors(module).items():
            first, place = places.get(name, (tensor, tensor.data_ptr()))
            replaced = tensor is not first or tensor.data_ptr() != place
            if replaced and tensor.shape == first.shape:
                how = f"in place, such as self.{name.rpartition('.')[2]}.data.copy_(…)"
                wrong = f"its tensor {name!r} is replaced in a forward pass; change it {how}."
                raise UserError(f"{module_key}: {wrong}")
        if model.brought and threaded:
            try:
                with torch.no_grad(), dual_level():
                    module(inputs.clone())
            except RuntimeError:  # it takes forward derivatives, whose levels are all threads'
                return None
        last, _ = task.batch(data, data.train_inputs[-size:], data.train_targets[-size:])
        with refused(f"{module_key}: it failed on inputs of {kind(last)}"):
            if tries and not _alike(population, inputs, targets):
                return None
            _check_apart(module_key, *population.modules)
            _check_kept(module_key, population, last)
        if task.score is correct and not has_logits(outputs, data.classes):
            task = replace(task, score=None)
        task = _compared(problem, task, module, outputs, targets, task_key)
    model = replace(model, draws_in_evaluation=now["own"] != after["own"])
    return replace(problem, task=task, model=model), others


def _compared(
    problem: Problem, task: Task, module: nn.Module, outputs: Any, targets: Tensor, task_key: str
) -> Task:
    """The task, whose own loss and scores are compared on some samples and on parts of these.

    ``outputs`` and ``targets`` are those of a batch.
    """
    data, whole = problem.data, _fits(problem, outputs, targets)
    rows = torch.linspace(0, len(data.train_inputs) - 1, max(len(targets), 8), dtype=torch.float64)
    rows = rows.long().unique().to(problem.device)
    batch = task.batch(data, data.train_inputs[rows], data.train_targets[rows])
    named = {f"{name} score": function for name, function in task.scores.items()}
    for name, function in {"loss": task.loss, "score": task.score, **named}.items():
        if function is None or getattr(function, "__module__", "") == Task.__module__:
            continue  # the package's own
        key, at_once = task_key + name, whole and not (task_key and name == "loss")
        # A task's loss is by sample. On chunks, fit's loss may be a mean, and no score.
        each = not at_once and bool(task_key or name != "loss")
        checked = partial(_numbers, key, function, each)
        _check_again(key, checked, module, batch)
        _check_mean(key, checked, module, batch)
        if name != "loss":  # which may not tell outputs of one sign apart
            _check_mean(key, checked, lambda x: module(x) - module(batch[0]).mean(0), batch)
        changed: dict[str, Any] = {name: checked}
        if name in named:
            changed = {"scores": {**task.scores, name.removesuffix(" score"): checked}}
        task = replace(task, at_once=at_once or task.at_once, **changed)
    return task


#: The most bytes of outputs and targets that a user's loss or score gets at once.
AT_ONCE = 10**9

#: How far numbers may be apart that are equal but for rounding, as a share of the largest.
ROUNDING = 1e-3


def _fits(problem: Problem, outputs: Any, targets: Tensor) -> bool:
    """Whether all outputs of an evaluation can be joined, and take ``AT_ONCE`` at most."""
    sets, tensors = [problem.test[1], problem.holdout[1] if problem.holdout else ()], [targets]
    over_tensors(tensors.append, outputs)
    joined = len(tensors) > 1 and {x.dim() and len(x) for x in tensors} == {len(targets)}
    size = sum(x.nbytes for x in tensors) / len(targets)
    fits = joined and size * max(sum(map(len, chunks)) for chunks in sets) <= AT_ONCE
    return fits or max(map(len, sets)) == 1


def _numbers(key: str, function: Loss, each: bool, outputs: Any, targets: Tensor) -> Tensor:
    """What a loss or a score returns: one number ``[]``, or one for ``each`` sample ``[b]``.

    A UserError for anything else.
    """
    b, of = len(targets), f"outputs {shape(outputs)} and targets {shape(targets)}"
    with refused(f"{key}: it failed on {of}"):
        values = function(outputs, targets)
        if key.endswith("score"):
            values = torch.as_tensor(values, dtype=torch.float64)
    number = isinstance(values, Tensor) and values.is_floating_point()
    if number and values.numel() == 1 and (b == 1 or not each):
        return values.reshape(()) if values.dim() else values
    if number and values.shape in ((b,), (b, 1)):
        return values.reshape(b)
    allowed = f"{'' if each else 'one number, a mean, or '}one for each, [{b}]"
    if each and key.endswith("score"):
        allowed += f", since all outputs can't be joined, or take over {in_words(AT_ONCE)}"
    raise UserError(
        f"{key}: it returned {shape(values)} for {b} samples, {of}; it must be a float tensor: "
        f"{allowed}."
    )


def _check_equal(key: str, told: str, one: Any, other: Any, near: float = 0.0) -> None:
    """Raise a UserError, which says what is ``told``, unless two outputs have equal tensors.

    Numbers may be ``near``, and large ones so much apart by their size.
    """
    try:
        over_tensors(partial(assert_close, rtol=near, atol=near / 10, equal_nan=True), one, other)
    except AssertionError:
        raise UserError(f"{key}: {told}.") from None


@torch.no_grad()
def _check_again(key: str, function: Loss, module: Callable[..., Any], batch: Batch) -> None:
    """Raise a UserError for a loss or a score that is another when it is called again; a loss may
    draw from torch's stream.
    """
    outputs, found = in_float32(module(batch[0].clone())), []
    for _ in range(2):
        if key.endswith("loss"):
            seed_streams(0)
        with suppress(Exception):  # an AUC, say, of samples of one class
            found.append(function(over_tensors(torch.clone, outputs), batch[1].clone()))
    if len(found) == 2:
        told = "it gives other values when it is called again; they must depend on outputs and"
        _check_equal(key, f"{told} targets alone", found[0], found[1])


@torch.no_grad()
def _check_mean(key: str, function: Loss, module: Callable[..., Any], batch: Batch) -> None:
    """Compare a loss or a score of samples with its values on parts of them.

    Raise a UserError for a loss that is the sum over samples, and for a function that broadcasts:
    it compares a sample's outputs with others' targets. Warn of a loss that is no mean.
    """
    inputs, targets = batch
    b, like, means, sums = len(targets), targets.shape, [], []

    def call(part: slice, change: Callable[[Any], Any] = in_float32) -> Tensor:
        return function(change(module(inputs[part].clone())), targets[part].clone()).double()

    def differ(other: Tensor) -> bool:  # never, where one is not finite
        largest = torch.maximum(whole.abs().max(), other.abs().max())
        return bool(((whole - other).abs() > ROUNDING * largest).any())

    try:
        with warnings.catch_warnings(action="ignore"):
            whole, *again = (call(slice(b)) for _ in range(4))
            for k in (1, b // 3 or 1, b // 2):
                one, other = call(slice(k)), call(slice(k, b))
                each = torch.cat([one.reshape(-1), other.reshape(-1)])
                means.append(each if whole.dim() else (k * one + (b - k) * other) / b)
                sums.append(each.sum())
    except Exception:  # an AUC, say, of samples of one class; the first evaluation tells of others
        return
    if any(map(differ, again)) or not any(map(differ, means)):  # its values are random, or means
        return
    crossed = False
    with suppress(Exception):  # outputs of another size
        crossed = differ(call(slice(b), lambda outputs: in_float32(outputs).reshape(like)))
    if crossed:
        raise UserError(
            f"{key}: it compares each output with every target, since their shapes differ; give "
            f"it outputs.reshape(targets.shape), for example."
        )
    if key.endswith("score"):
        return
    if not whole.dim() and not any(map(differ, sums)):
        raise UserError(
            f"{key}: it is the sum over samples; it must be their mean, such as "
            f"lambda outputs, targets: f(outputs, targets) / len(targets), or reduction='mean'."
        )
    told = (
        f"{key}: its value is not the mean of those of parts of the samples (weights, left-out "
        f"targets, shapes that broadcast?); steps take it as it is, and evaluations report it for "
        f"all samples, or its mean over chunks where outputs take over {in_words(AT_ONCE)}."
    )
    warnings.warn(told, RuntimeWarning, stacklevel=8)


def check_finite(data: Dataset, task: Task, key: str = "") -> None:
    """Raise a UserError for inputs or targets that are NaN or infinite.

    A loss of the user's may leave out such targets.
    """
    names = ["train inputs", "test inputs"]
    if task.loss in [entry.loss for entry in TASKS.values()]:
        names += ["train targets", "test targets"]
    for name in names:
        values = getattr(data, name.replace(" ", "_"))
        if values.is_floating_point() and (count := int((~values.isfinite()).sum())):
            raise UserError(
                f"{key}{name}: {count:,} values are not finite; replace them, or leave samples out."
            )
