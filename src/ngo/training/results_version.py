"""Version numbers and digests of runs: a run with another number than today's is trained again.

Whoever changes the results of runs raises a number: ``RESULTS_VERSION`` if it concerns all runs,
else the ``version=`` of the entry that has changed (a method, a topology, a model …). No code is
read. A test trains tiny runs with the code of the revision that last raised a number, and with
today's, and compares the bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ngo.common import plugins
from ngo.common.fields import Field
from ngo.common.lazy import torch
from ngo.common.registries import BACKENDS
from ngo.data.dataset import Dataset
from ngo.training.spec import FIELDS, RunSpec, own_entries
from verdicts.registry import Registry

RESULTS_VERSION = 1

# How the keys of digests end. Records of before they were kept have none.
DIGEST = "_digest"

Values = Mapping[str, object]


def results_version(spec: RunSpec) -> str:
    """The numbers and files that decide a run's result, beside its values and the libraries."""
    return version_of(spec.values())


def version_of(values: Values, fields: Mapping[str, Field] = FIELDS) -> str:
    """The numbers and files that decide what is made with these values, or lists, of ``fields``.

    ``1`` for most. The numbers of entries follow where they are not 1, by the entry's name, and
    then 8 hex digits of the bytes of files: of graph files and the like, and of the plugins that
    registered an entry. For example ``1 coupling.clipped=2 files=9c2e1f3a``.
    """
    numbers, files = set(), dict(named_files(values, fields))
    for registry, name in _entries(values, fields):
        numbers.add((registry.kind, name, registry.versions.get(name, 1)))
        module = registry.definitions.get(name, "").partition(":")[0]
        files |= {each.module: each.path for each in plugins.loaded() if each.module == module}
    raised = [f"{kind}.{name}={number}" for kind, name, number in sorted(numbers) if number != 1]
    parts = [str(RESULTS_VERSION), *raised]
    if files:
        digests = (hashlib.sha256(path.read_bytes()).digest() for _, path in sorted(files.items()))
        parts.append(f"files={hashlib.sha256(b''.join(digests)).hexdigest()[:8]}")
    return " ".join(parts)


def named_files(values: Values, fields: Mapping[str, Field] = FIELDS) -> dict[str, Path]:
    """The files that these values of ``fields`` name, by the field."""
    return {
        name: Path(value)
        for name, value in values.items()
        if name in fields and fields[name].kind is Path and isinstance(value, str)
    }


def _entries(values: Values, fields: Mapping[str, Field]) -> Iterator[tuple[Registry[Any], str]]:
    """The registered entries that values of ``fields`` name, each with its registry."""
    for name, value in values.items():
        registry = fields[name].names if name in fields else None
        for each in value if isinstance(value, list | tuple) else [value]:
            if registry is not None and each in registry:
                yield registry, str(each)
    if values.get("backend") == "auto":  # which may choose any of them
        yield from ((BACKENDS, name) for name in BACKENDS)


def unnumbered_entries(spec: RunSpec) -> dict[str, object]:
    """The run's entries for which neither a number nor a file stands: those of a script."""
    numbered = {plugin.module for plugin in plugins.loaded()}
    return {
        f"code of {name}": cast("Registry[Any]", FIELDS[name].names)[getattr(spec, name)]
        for name, (module, _) in own_entries(spec).items()
        if module not in numbered
    }


def data_digest(data: Dataset) -> str:
    """16 hex digits of all samples: their types, shapes and values."""
    digest = hashlib.sha256()
    for x in (data.train_inputs, data.train_targets, data.test_inputs, data.test_targets):
        digest.update(f"{x.dtype} {tuple(x.shape)}".encode())
        digest.update(x.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:16]


def inputs_read(spec: RunSpec, data: Dataset) -> dict[str, str]:
    """Digests of what a run reads: of its ``data``, and of each file that a field names."""
    digests = {"data" + DIGEST: data_digest(data)}
    for name, path in named_files(spec.values()).items():
        digests[name + DIGEST] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return digests
