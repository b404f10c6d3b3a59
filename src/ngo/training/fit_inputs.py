"""What a user gives to ``fit``, as entries of the package.

A module becomes a model, data a data set, a loss and a score a task, a graph or a matrix a
topology, and a list of indices a partition.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import TensorDataset, default_collate

from ngo.common.lazy import nx
from ngo.common.registries import OBJECTIVES, PARTITIONS, SAME, TASKS, TOPOLOGIES
from ngo.common.seeding import stream_seed
from ngo.data.dataset import Dataset, Source
from ngo.data.description import MOST_CLASSES
from ngo.data.partition import Rule, checked_parts, parts_digest, sorted_parts
from ngo.engine.backends import Named
from ngo.engine.module_chain import KINDS, leaves_of
from ngo.engine.population import tensors
from ngo.engine.straight_forward import calls_of, with_rows
from ngo.gossip.mixing_matrix import MixingMatrix, checked_matrix, dense_array
from ngo.gossip.topologies.graph_file import numbered
from ngo.gossip.topology import Topology
from ngo.models.layers import hooked
from ngo.models.model import Model
from ngo.models.task import Task
from ngo.training.evaluation import check_column
from ngo.training.global_state import restored_streams, seed_streams
from ngo.training.learning_problem import Loss, Problem, check_module, kind, make_problem, refused
from ngo.training.object_digest import ObjectDigest
from ngo.training.spec import RunSpec
from ngo.training.spec_checks import resolve
from verdicts.registry import Registry, UserError, check, shown

Make = Callable[[], nn.Module]


def inputs_of(
    module: nn.Module | Make,
    train: Any,
    test: Any,
    loss: Loss | None,
    score: Any,
    fields: dict[str, Any],
    device: str,
    stack: ExitStack,
) -> tuple[RunSpec, Problem, nn.Module]:
    """The run, the problem, and a copy of the module in eval mode.

    ``fields`` have the seed; those that the other arguments decide are added to them.
    Entries that are registered for it are there until ``stack`` ends. Raises a one-line UserError.
    """
    sizes: list[int] = []
    pair = with_partition(train, fields, stack)
    if by_workers(test):
        test, sizes = _joined("test", test)
    data, source = dataset_of(pair, test, device, loss is not None)
    copied = template(module, fields["seed"])
    if is_plain(loss, nn.functional.nll_loss, nn.NLLLoss) and _ends_in_log_softmax(copied, data):
        loss = nn.functional.cross_entropy  # of log-probabilities, it is the same
    name, task = task_of(data, loss, score)
    model = model_of(copied, data, name)
    fields |= {"dataset": NAME, "model": type(copied).__name__, "task": name}
    with_topology(fields, stack)
    with_objective(fields, stack)
    spec = resolve(fields, source=source, model=model)
    if sizes and len(sizes) != spec.workers:
        raise UserError(f"test: there are test sets for {len(sizes)} of {spec.workers} workers.")
    told = f"workers of fit start from copies of the module: it must be {SAME}"
    check(spec.initialization in (None, SAME), "initialization", spec.initialization, told)
    spec = replace(spec, own=(*spec.own, ("module", ObjectDigest(copied.eval()).text[:8])))
    return spec, make_problem(spec, data, model=model, task=task, own_tests=sizes), copied


def task_of(data: Dataset, loss: Loss | None, score: Any = None) -> tuple[str, Task]:
    """The name of the task, and the task with the user's ``loss`` and ``score`` if there are any.

    By default the loss is the cross entropy for data with classes, and the squared error for other
    data. What functions return is checked when the problem is tried.
    """
    named: Mapping[str, Loss] = score if isinstance(score, Mapping) else {}
    score = None if named else score
    for name in named:
        check_column("score", name, f"consensus_{name}")
    each = {f"score, {name}": function for name, function in named.items()}
    for key, given in {"loss": loss, "score": score, **each}.items():
        if given is not None and (not callable(given) or isinstance(given, type)):
            how = ", such as nn.MSELoss()" if key == "loss" else "; several are {'f1': f, 'auc': g}"
            raise UserError(f"{key}: {shown(given)} is not a function (outputs, targets){how}.")
    name = "regression" if data.classes is None else "classification"
    task = TASKS[name]
    whole = {name: _reset_first(function) for name, function in named.items()}
    score = score and _reset_first(score)
    known: tuple[Any, Any] = (nn.functional.cross_entropy, nn.CrossEntropyLoss)
    dtype = torch.int64
    if data.classes is None:
        known, dtype = (nn.functional.mse_loss, nn.MSELoss), torch.float32
    if loss is not None and not (data.train_targets.dtype == dtype and is_plain(loss, *known)):
        task = replace(task, loss=loss)
    task = replace(task, score=score or task.score, scores=whole)
    if not data.train_inputs.is_floating_point():
        task = replace(task, batch=lambda data, inputs, targets: (inputs, targets))
    return name, task


def is_plain(loss: Any, function: Loss, kind: type[nn.Module]) -> bool:
    """Whether a user's loss is torch's as it is, for which there are fast ways."""
    if type(loss) is not kind:
        return loss is function
    plain: Any = kind()
    names = {*plain.__constants__} - {"reduction"}
    alike = all(getattr(loss, name) == getattr(plain, name) for name in names)
    return alike and getattr(loss, "weight", None) is None and loss.reduction != "sum"


def _ends_in_log_softmax(module: nn.Module, data: Dataset) -> bool:
    copied = deepcopy(module)
    with restored_streams():
        calls = calls_of(copied, data.train_inputs.shape[1:], KINDS)
    with_rows(copied, calls, torch.Generator())
    last = [None, *leaves_of(copied)][-1]
    return isinstance(last, nn.LogSoftmax) and last.dim in (1, -1)


def _reset_first(function: Any) -> Loss:
    """A score; one that gathers from call to call, such as torchmetrics', forgets before each."""
    if not (hasattr(function, "compute") and hasattr(function, "reset")):
        return function
    return lambda outputs, targets: (function.reset(), function(outputs, targets))[1]


def template(module: nn.Module | Make, seed: int) -> nn.Module:
    """A copy of the module, or of what a function makes under the run's ``seed``.

    Raises a one-line UserError for a module that cannot be trained by workers.
    """
    made = module
    if callable(module) and not isinstance(module, nn.Module):
        with restored_streams(), refused("module: its function failed"):
            seed_streams(stream_seed(seed, "init"))
            made = module()
    made = check_module("module", made)
    for name in hooked(made):
        how = "change gradients in a local rule, or by hooks of outputs in forward"
        raise UserError(f"module: its parameter {name!r} has a hook, which copies lose; {how}.")
    held = [x for layer in made.modules() for x in vars(layer).values()]
    computed = [x for x in held if isinstance(x, torch.Tensor) and not x.is_leaf]
    # Forward passes compute these anew (weights by a hook, say); else the loss is refused.
    instead = {id(x): nn.Parameter(x.detach().clone()) for x in computed}
    with refused("module: it can't be copied"):
        return deepcopy(made, instead)


def model_of(template: nn.Module, data: Dataset, task_name: str) -> Model:
    """A model that is built as a copy of ``template``."""
    shape = tuple(data.train_inputs.shape[1:])
    return Model(lambda generator: deepcopy(template), shape, task_name, brought=True)


@torch.inference_mode(False)
def like(template: nn.Module, values: Named) -> nn.Module:
    """A copy of ``template`` in eval mode, with the ``values`` as parameters and buffers."""
    made = deepcopy(template)
    for name, tensor in tensors(made).items():
        tensor.data = values.get(name, tensor.data)
        tensor.grad = None
    return made.eval()


#: Inputs and targets: two tensors or arrays, or a data set of torch.
Pair = tuple[Any, Any] | TorchDataset[Any]


NAME = "own"  # the name of the data set in ids and metrics


def is_data(value: object) -> bool:
    """Whether a value is a data set of torch, or a pair that starts with a tensor or an array."""
    if isinstance(value, tuple | list):
        return len(value) == 2 and hasattr(value[0], "__array__")
    return isinstance(value, TorchDataset)


def by_workers(data: Any) -> bool:
    """Whether data are those of each worker: a list of pairs or data sets."""
    return isinstance(data, list | tuple) and bool(data) and all(map(is_data, data))


def read_once(key: str, data: Any) -> Any:
    """Data as tensors, read once for several runs: a pair, or one for each worker."""
    if by_workers(data):
        return [tuple(_tensors(f"{key}, worker {i}", each)) for i, each in enumerate(data)]
    return tuple(_tensors(key, data))


def _joined(key: str, data: Any) -> tuple[Any, list[int]]:
    """The data of all workers as one pair, on the first one's device, and how many each has."""
    pairs = read_once(key, data)
    for i, pair in enumerate(pairs):
        _check_alike(f"{key}, worker {i}:", pair, pairs[0])
    whole = tuple(torch.cat([x.to(xs[0].device) for x in xs]) for xs in zip(*pairs, strict=True))
    return whole, [len(X) for X, _ in pairs]


def dataset_of(train: Pair, test: Pair, device: str, any_targets: bool) -> tuple[Dataset, Source]:
    """Training and test samples as a data set on ``device``.

    Each is a pair (inputs, targets) of tensors or arrays, or a data set of torch with such samples.
    Targets are int64 class numbers ``[m]`` or float32 ``[m, …]``; ``any_targets`` allows others,
    and then int64 targets ``[m]`` are classes if they can be. Raises a one-line UserError for
    anything else.
    """
    X, y = _tensors("train", train)
    X_test, y_test = _tensors("test", test)
    _check_alike("test", [X_test, y_test], [X, y])
    if y.dtype == torch.float64 and not any_targets:
        y, y_test = y.float(), y_test.float()
    classes = None
    if y.dtype == torch.int64 and y.dim() == 1:
        least, most = int(min(y.min(), y_test.min())), int(max(y.max(), y_test.max()))
        if least < 0 and not any_targets:
            raise UserError(f"targets: {least} is not a class; int64 classes start from 0.")
        if least >= 0 and (most < MOST_CLASSES or not any_targets):
            classes = most + 1
    elif y.dtype != torch.float32 and not any_targets:
        raise UserError(
            f"targets: each is {kind(y)}; without loss=… give classes (int64 [m]) or float32."
        )
    # Copies: neither the caller's functions nor the caller change data between two steps.
    X, y, X_test, y_test = (x.to(device, copy=True) for x in (X, y, X_test, y_test))
    data = Dataset(NAME, classes, X, y, X_test, y_test, mean=None, std=None)
    # It has no functions that read files.
    source = Source(None, len(X), tuple(X.shape[1:]), classes)  # type: ignore[arg-type]
    return data, source


def _check_alike(key: str, pair: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> None:
    for name, one, other in zip(("inputs", "targets"), like, pair, strict=True):
        if one.shape[1:] != other.shape[1:] or one.dtype != other.dtype:
            raise UserError(
                f"{key} {name}: each is {kind(other)}; it must be {kind(one)}, as for training."
            )


def _tensors(key: str, pair: object) -> list[torch.Tensor]:
    """Inputs and targets."""
    if isinstance(pair, TorchDataset):
        pair = _collected(key, pair)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise UserError(
            f"{key}: {type(pair).__name__} is not a pair (inputs, targets) or a torch Dataset; "
            f"of columns, give (data['x'], data['y']), of a dict of workers, list(data.values()), "
            f"of a DataLoader, loader.dataset (fit draws its own batches)."
        )
    X, y = _tensor(f"{key} inputs", pair[0]), _tensor(f"{key} targets", pair[1])
    if len(X) != len(y) or len(X) == 0:
        raise UserError(
            f"{key}: there are {len(X)} inputs and {len(y)} targets; give equally many, 1 or more."
        )
    return [X.float() if X.dtype == torch.float64 else X, y]


def _tensor(key: str, value: Any) -> torch.Tensor:
    with refused(f"{key}: {type(value).__name__} is no array of numbers with a row per sample"):
        if not isinstance(value, torch.Tensor):
            # A copy: it may be read-only. torch has the machine's order of bytes alone.
            array = np.array(value, order="C")
            value = torch.from_numpy(array.astype(array.dtype.newbyteorder("=")))
        len(value)  # not of a single number
        # A copy of a tensor from inference mode: autograd takes no other.
        value = value.clone() if value.is_inference() else value.detach()
        return value.to_dense().contiguous()


def _collected(key: str, data: TorchDataset[Any]) -> tuple[Any, Any]:
    """All samples of a data set, each read once."""
    if type(data) is TensorDataset and len(data.tensors) == 2:
        return data.tensors[0], data.tensors[1]
    with refused(f"{key}: the samples of the {type(data).__name__} are no pairs (input, target)"):
        samples: Any = data  # which has a length and is read by number
        rows = range(len(samples))
        if not rows:
            raise UserError(f"{key}: the {type(data).__name__} has no samples.")
        if isinstance(samples[0], Mapping):
            raise ValueError("they are dictionaries; give a pair of two columns")
        X, y = default_collate([samples[i] for i in rows])
        some = sorted({i * (len(rows) - 1) // 7 for i in range(8)})
        with suppress(Exception), restored_streams():  # it may be read once only
            pairs = zip((X, y), default_collate([samples[i] for i in some]), strict=True)
            if any(not torch.equal(x[some].nan_to_num(), z.nan_to_num()) for x, z in pairs):
                kept = "each is read once and kept (augmentation changes images in each step)"
                differ = f"samples of the {type(data).__name__} differ from read to read"
                told = f"{key.partition(',')[0]}: {differ}; {kept}."
                warnings.warn(told, RuntimeWarning, stacklevel=2)
        return X, y.float() if y.dtype == torch.float64 else y


EXAMPLE = "for example topology='ring', [(0, 1), (1, 2)], networkx.cycle_graph(10) or a matrix W"


#: How far entries of a matrix may be from symmetry, and its sums from 1: the rounding of float32.
TOLERANCE = 1e-5


def with_topology(fields: dict[str, Any], stack: ExitStack) -> None:
    """Register the topology of ``fields`` where it is no name, and put its name and size there.

    A mixing matrix is symmetric and doubly stochastic, dense or one of SciPy's sparse arrays.
    Edges are pairs of workers. Nodes of a networkx graph are workers in order (``graph_file``).
    Raises a one-line UserError.
    """
    given, workers = fields.get("topology"), fields.get("workers")
    if given is None or isinstance(given, str):
        return
    content: Any
    directed = weighted = matching = False
    if isinstance(given, nx.Graph):
        n, directed = len(given), given.is_directed()
        content = sorted(numbered(given, "topology: the graph").edges())
    elif (pairs := _pairs(given)) is not None:
        content, n = pairs, workers or 1 + max(map(max, pairs))
    else:
        content, weighted = _matrix(given), True
        n, matching = content.n, bool((content.starts.diff() <= 1).all())
    check(workers in (None, n), "workers", workers, f"the topology has {n}")
    data = content.dense().numpy().tobytes() if weighted else repr(content).encode()
    name = f"own-{hashlib.sha256(data + bytes([directed])).hexdigest()[:8]}"
    facts = {"period": 1, "matching": matching}
    entry = Topology(name, lambda n: content, directed, weighted, (), facts)
    _registered(TOPOLOGIES, name, entry, stack)
    fields |= {"topology": name, "workers": n}


def with_objective(fields: dict[str, Any], stack: ExitStack) -> None:
    """Register the objective of ``fields`` where it is no name: a number above 0 for each worker.

    Only their proportions count. Raises a one-line UserError.
    """
    given = fields.get("objective")
    if given is None or isinstance(given, str):
        return
    with refused("objective: it must be workers, samples, or a number above 0 for each worker"):
        weights = np.array(given, np.float64)
        if weights.ndim != 1 or not 0 < weights.min() <= weights.sum() < np.inf:
            raise ValueError(f"not {shown(given)}")
        weights /= weights.sum()
    fields["objective"] = name = f"own-{hashlib.sha256(weights.tobytes()).hexdigest()[:8]}"
    _registered(OBJECTIVES, name, lambda sizes: weights, stack)


def _pairs(given: Any) -> list[tuple[int, int]] | None:
    """A list of pairs, or a whole-number array ``[e, 2]``, as edges; None for anything else."""
    try:
        values = np.asarray(list(given) if isinstance(given, set) else given)
    except (TypeError, ValueError, RuntimeError):
        return None
    if values.shape[1:] != (2,) or not len(values) or values.dtype.kind not in "iu":
        return None
    return sorted((i, j) for i, j in values.tolist())


def _matrix(given: Any) -> MixingMatrix:
    """A user's mixing matrix, checked; sums and symmetry are made exact."""
    try:
        W = torch.as_tensor(dense_array(given), dtype=torch.float64).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        wrong = f"topology: {type(given).__name__} is no graph or matrix; {EXAMPLE}."
        raise UserError(wrong) from None
    checked_matrix("own", W, len(W) if W.ndim else 0, directed=False, tolerance=TOLERANCE)
    W = (W + W.T) / 2
    W = W - torch.diag(W.diagonal())
    return MixingMatrix.of(W + torch.diag((1 - W.sum(1)).clamp(min=0)))


def with_partition(train: Any, fields: dict[str, Any], stack: ExitStack) -> Any:
    """All training samples. If the user says who owns which, ``fields`` gets that partition."""
    partition: Any = fields.get("partition")
    given = by_workers(train)
    if not given and (partition is None or isinstance(partition, str)):
        return train
    if given and partition is not None:
        raise UserError("partition: train is a list of workers' data sets already; leave it out.")
    told = "each worker's samples are given, so none can be held out; give some as test"
    check(not (share := fields.get("holdout")), "holdout", share, told)
    if given:
        train, sizes = _joined("train", train)
        ends = np.cumsum(sizes)
        parts = np.split(np.arange(ends[-1]), ends[:-1])
    else:
        train = _tensors("train", train)
        with refused(
            "partition: it must be a name, or a list with the indices of each worker's samples, "
            "such as 'iid' or [[0, 1, 2], [3, 4, 5]]"
        ):
            if isinstance(partition, Mapping) or not (parts := list(partition)):
                raise ValueError("it is a dict; give the values" if partition else "it is empty")
        m = len(train[0])
        parts = sorted_parts(checked_parts("partition", parts, len(parts), m, least=1))
    n = fields.setdefault("workers", len(parts))
    check(n == len(parts), "workers", n, f"{len(parts)} workers have samples")
    fields["partition"] = f"own-{parts_digest(parts)[:8]}"
    smallest, owned = min(map(len, parts)), sum(map(len, parts))
    rule = Rule(lambda labels, n, *, generator: parts, lambda m, n: smallest, lambda m, n: owned)
    _registered(PARTITIONS, fields["partition"], rule, stack)
    return train


def _registered(registry: Registry[Any], name: str, entry: object, stack: ExitStack) -> None:
    """Register an entry until ``stack`` ends; names are by content, so that one may be there."""
    if name not in registry:
        registry.add(name, entry)
        stack.callback(registry.pop, name, None)
