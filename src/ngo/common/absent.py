"""Stand-ins for libraries that are not installed, where a workflow is only parsed and linted.

Modules that the workflow imports at its start import them at the top, but parsing calls none of
their functions.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType

from ngo.common.registry import UserError


class Absent(ModuleType):
    """A module, or a thing in it, that is not there; calling it raises a one-line UserError."""

    __path__ = ()

    def __getattr__(self, name: str) -> Absent:
        """A thing in the module, whatever its name."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *_: object, **__: object) -> None:
        """Raise a UserError that names the library."""
        library = self.__name__.partition(".")[0]
        raise UserError(f"{library}: it is not installed where Snakemake runs; run `make setup`.")


def stand_in_for(library: str, *parts: str) -> None:
    """Let modules import ``library`` and its ``parts`` where it is not installed."""
    if library not in sys.modules and find_spec(library) is None:
        for name in (library, *(f"{library}.{part}" for part in parts)):
            sys.modules[name] = Absent(name)
