"""The fingerprint of the code that decides a run's result."""

from __future__ import annotations

from collections.abc import Iterator

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
    entries are not reached from the loop: adding or changing one leaves the fingerprint alone.
    """
    return fingerprint(*EVERY_RUN, *_definitions(spec))


def _definitions(spec: RunSpec) -> Iterator[str]:
    for name, field in FIELDS.items():
        definitions = {} if field.names is None else field.names.definitions
        if (choice := getattr(spec, name)) in definitions:
            yield definitions[choice]
    if spec.backend == "auto":  # which may choose any of them
        yield from BACKENDS.definitions.values()
