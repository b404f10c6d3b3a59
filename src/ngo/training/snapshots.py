"""Snapshots: the workers' models after chosen steps of a run, and their file."""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import nn

from ngo.common.files import write_bytes
from ngo.engine.population import Population
from ngo.training.spec import FIELDS, RunSpec
from ngo.training.spec_checks import check_field
from verdicts.files import regular_file
from verdicts.registry import UserError, check

# What torch raises for files of other kinds, and for damaged ones.
UNREADABLE = (
    *(RuntimeError, LookupError, TypeError, ValueError, AttributeError, EOFError, MemoryError),
    *(pickle.UnpicklingError, zipfile.BadZipFile),
)


def load_tensors(file: BinaryIO) -> Any:
    """The content of a file, with its tensors on the CPU; one of ``UNREADABLE`` for another file.

    Nothing in the file is executed. torch stores tensors as they are, so none is larger than the
    file: compressed ones, and views that repeat values, are refused.
    """
    with zipfile.ZipFile(file) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("it is compressed")
    file.seek(0)
    content = torch.load(file, map_location="cpu", weights_only=True)
    waiting, seen = [content], set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, torch.Tensor) and value.nbytes > value.untyped_storage().nbytes():
            raise ValueError("a tensor is larger than what is stored of it")
        if isinstance(value, dict | list | tuple) and id(value) not in seen:  # it may have itself
            seen.add(id(value))
            waiting += value.values() if isinstance(value, dict) else value
    return content


# For each step, the workers' parameters "X" [n, d], their float "buffers" [n, b], and, if the model
# has int64 buffers, their "counts" [n, c].
STATE = ("X", "buffers", "counts")
Models = dict[str, torch.Tensor]
Snapshots = dict[int, Models]


def snapshot(population: Population) -> Models:
    """The workers' models now, on the CPU."""
    names = STATE if population.counts.numel() else STATE[:2]
    return {name: getattr(population, name).cpu().clone() for name in names}


def save_snapshots(path: str | Path, spec: RunSpec, snapshots: Snapshots) -> None:
    """Write the snapshots of a run; equal ones give the same bytes.

    Convolution kernels in a row of ``X`` have their channels last, and
    ``torch.nn.utils.vector_to_parameters`` does not fit them. ``module`` makes a model of a row.
    """
    buffer = io.BytesIO()  # torch would store the temporary file's name
    # One string is one object, so that a pickle's bytes do not depend on where these are from.
    values = {k: sys.intern(v) if isinstance(v, str) else v for k, v in spec.values().items()}
    kept = {k: {sys.intern(x): rows for x, rows in of.items()} for k, of in snapshots.items()}
    torch.save({"spec": values, "snapshots": kept}, buffer)
    write_bytes(path, buffer.getvalue())


def load_snapshots(path: str | Path) -> tuple[RunSpec, Snapshots]:
    """The run and its snapshots; a UserError if the file holds none. Nothing in it is executed."""
    file_path = regular_file(Path(path), "models")
    try:
        with file_path.open("rb") as file:
            content = load_tensors(file)
        spec, snapshots = RunSpec.of(content["spec"]), dict(content["snapshots"])
        _check(spec, snapshots)
        return spec, snapshots
    except OSError as error:
        raise UserError(f"models: {str(path)!r} can't be read: {error.strerror}") from None
    except (*UNREADABLE, UserError):  # torch's message suggests unsafe loading
        fault = "holds no models of a run; it is no models.pt that ngo train wrote, or damaged"
        raise UserError(f"models: {str(path)!r} {fault}.") from None


def _check(spec: RunSpec, snapshots: Snapshots) -> None:
    """Raise a UserError or a ValueError unless these can be the snapshots of the run, by step."""
    for name, value in spec.values().items():
        if value is not None and name in FIELDS and FIELDS[name].kind is not Path:
            check_field(name, value)
    for step, models in snapshots.items():
        rows = [models["X"], models["buffers"], models.get("counts", models["X"])]
        if type(step) is not int or any(len(row) != spec.workers for row in rows):
            raise ValueError(f"there are no models of the run at step {step}")


def module(spec: RunSpec, snapshot: Models, worker: int | None = None) -> nn.Module:
    """The model of a ``worker``, in eval mode. It shares no tensors with other models.

    Without ``worker`` it is the consensus model: the mean of all workers' parameters and buffers.
    ``spec`` and ``snapshot`` come from ``load_snapshots``. The task's ``batch`` makes the model's
    inputs from the samples of a data set (see ``task.Task``).
    """
    there = f"the workers of {spec.id} are 0 to {spec.workers - 1}"
    check(worker is None or 0 <= worker < spec.workers, "worker", worker, there)
    population = restored(spec, snapshot)
    model = population.consensus() if worker is None else population.modules[worker]
    return deepcopy(model).eval()


def restored(spec: RunSpec, snapshot: Models) -> Population:
    """The population of a run, restored from a snapshot."""
    population = Population(spec.model, spec.workers, spec.seed, honest=spec.honest)
    for name in STATE:
        # Earlier files have no counts.
        ours, theirs = getattr(population, name), snapshot.get(name, population.counts)
        if ours.shape != theirs.shape:
            shapes = f"{[*theirs.shape]}; expected {[*ours.shape]}, that of {spec.model}"
            raise UserError(f"models: those of {spec.id} have the shape {shapes}.")
        ours.copy_(theirs)
    return population
