"""The workers' models after some steps of a run: a file, and the population that it brings back."""

from __future__ import annotations

import io
import pickle
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path

import torch
from torch import nn

from ngo.files import whole_file
from ngo.population import Population
from ngo.registry import UserError
from ngo.spec import RunSpec

# What torch raises where a file is something else.
_NO_MODELS = (
    *(RuntimeError, LookupError, TypeError, ValueError, AttributeError, EOFError),
    pickle.UnpicklingError,
)

# For each step, the workers' parameters "X" [n, d] and "buffers" [n, b].
Snapshots = dict[int, dict[str, torch.Tensor]]


def save_snapshots(path: str | Path, spec: RunSpec, snapshots: Snapshots) -> None:
    """Write snapshots with the run that they are of; the same ones give the same bytes.

    A row of ``X`` does not lie as ``torch.nn.utils.vector_to_parameters`` takes it: kernels of
    convolutions have their channels last. :func:`module` makes a model of it.
    """
    buffer = io.BytesIO()  # torch would write a file's (temporary) name into it
    torch.save({"spec": asdict(spec), "snapshots": snapshots}, buffer)
    with whole_file(path) as temporary:
        temporary.write_bytes(buffer.getvalue())


def load_snapshots(path: str | Path) -> tuple[RunSpec, Snapshots]:
    """The run and its snapshots; a UserError if the file holds none."""
    try:
        content = torch.load(path, weights_only=True)
        return RunSpec(**content["spec"]), content["snapshots"]
    except OSError as error:
        raise UserError(f"models: {str(path)!r} can't be read: {error.strerror}") from None
    except _NO_MODELS:  # torch's own words would advise to read what may run anything
        raise UserError(
            f"models: {str(path)!r} holds no models of a run; it is no models.pt that ngo train "
            f"wrote, or damaged."
        ) from None


def module(
    spec: RunSpec, snapshot: dict[str, torch.Tensor], worker: int | None = None
) -> nn.Module:
    """The model of a ``worker``, in eval mode, with tensors of its own.

    Without one it is the consensus model: the means of all workers' parameters and of their
    buffers. ``spec`` and ``snapshot`` are those of :func:`load_snapshots`. It takes inputs as the
    task's ``batch`` makes them of a data set's samples (see :class:`ngo.tasks.Task`).
    """
    if worker is not None and not 0 <= worker < spec.workers:
        raise UserError(
            f"worker: {worker!r} is not in {spec.id}; its workers are 0 to {spec.workers - 1}."
        )
    consensus, *workers = restored(spec, snapshot).modules()
    return deepcopy(consensus if worker is None else workers[worker]).eval()


def restored(spec: RunSpec, snapshot: dict[str, torch.Tensor]) -> Population:
    """The population of a run as it was when the snapshot was taken."""
    population = Population(spec.model, spec.workers, spec.seed)
    population.X.copy_(snapshot["X"])
    population.buffers.copy_(snapshot["buffers"])
    return population
