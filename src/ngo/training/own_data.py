"""A user's tensors, arrays and data sets as the package's data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import IterableDataset, TensorDataset, default_collate

from ngo.common.registry import UserError
from ngo.data.dataset import Dataset, Source
from ngo.data.described import MOST_CLASSES
from ngo.data.partition import Parts
from ngo.training.own import kind, refused, type_name

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
