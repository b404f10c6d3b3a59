"""The fingerprint of the code that decides a run's result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from ngo.common.fingerprint import fingerprint
from ngo.engine.backend import BACKENDS
from ngo.training.spec import FIELDS, RunSpec

# What every run executes: reading and writing files is no part of it. (A method called on a run
# cannot be found by reading the code that calls it.)
EVERY_RUN = (
    "ngo.training.loop:train",
    "ngo.data.loading:load",
    *(f"ngo.training.spec:RunSpec.{name}" for name in ("partition_fields", "steps", "kept")),
)


def run_fingerprint(spec: RunSpec) -> str:
    """16 hex digits of the code that decides the result of a run.

    It is the code of the training loop, and of the registered entries that the run names. Other
    entries are not reached from the loop: adding or changing one leaves the fingerprint alone. The
    contents of files that fields of the run name are part of it.
    """
    code = fingerprint(*EVERY_RUN, *_definitions(spec))
    files = named_files(spec.values())
    if not files:
        return code
    contents = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files.values()]
    return hashlib.sha256("".join([code, *contents]).encode()).hexdigest()[:16]


def named_files(values: Mapping[str, object]) -> dict[str, Path]:
    """The files that these fields of a run name, by the field."""
    return {
        name: Path(value)
        for name, value in values.items()
        if name in FIELDS and FIELDS[name].kind is Path and isinstance(value, str)
    }


def _definitions(spec: RunSpec) -> Iterator[str]:
    for name, field in FIELDS.items():
        definitions = {} if field.names is None else field.names.definitions
        if (choice := getattr(spec, name)) in definitions:
            yield definitions[choice]
    if spec.backend == "auto":  # which may choose any of them
        yield from BACKENDS.definitions.values()
