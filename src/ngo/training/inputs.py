"""Digests of what a run reads: its data, and the files that its fields name."""

from __future__ import annotations

import hashlib

import torch

from ngo.data.dataset import Dataset
from ngo.training.earlier import DIGEST
from ngo.training.results_version import named_files
from ngo.training.spec import RunSpec


def data_digest(data: Dataset) -> str:
    """16 hex digits of all samples: their types, shapes and values."""
    digest = hashlib.sha256()
    for x in (data.train_inputs, data.train_targets, data.test_inputs, data.test_targets):
        digest.update(f"{x.dtype} {tuple(x.shape)}".encode())
        digest.update(x.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def inputs_read(spec: RunSpec, data: Dataset) -> dict[str, str]:
    """The digests by what they are of: ``data``, and the fields that name files."""
    files = named_files(spec.values()).items()
    found = {name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in files}
    return {name + DIGEST: each for name, each in {"data": data_digest(data), **found}.items()}
