"""Replacing methods of Snakemake's."""

from __future__ import annotations

import importlib
from collections.abc import Callable


def replace(place: str, make: Callable[[Callable], Callable]) -> None:
    """Replace the method at ``place``, ``module:Class.method``, by ``make(method)``.

    Versions of Snakemake without it are not changed.
    """
    module, _, path = place.partition(":")
    owner, name = path.split(".")
    try:
        found = getattr(importlib.import_module(module), owner)
        method = getattr(found, name)
    except (ImportError, AttributeError):
        return
    setattr(found, name, make(method))
