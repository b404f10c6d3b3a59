"""Replacing methods of Snakemake.

They are private, and another release may change them: each replacement states the hash of the code
that it replaces. ``pyproject.toml`` pins the minor version of Snakemake.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable

from ngo.common.registry import UserError


def replace(place: str, code: str, make: Callable[[Callable], Callable]) -> None:
    """Replace the method at ``place``, ``module:Class.method``, by ``make(method)``.

    ``code`` is the method's hash (``code_hash``). A second replacement has no further effect.
    Raises a UserError if this version of Snakemake has no such method, or another one.
    """
    module, _, path = place.partition(":")
    owner, name = path.split(".")
    try:
        importlib.import_module("snakemake.api")  # its modules import each other in this order
        found = getattr(importlib.import_module(module), owner)
        method = inspect.unwrap(getattr(found, name))
    except (ImportError, AttributeError):
        raise _not_fitting(f"has no {place}") from None
    if code_hash(method) != code:
        raise _not_fitting(f"has other code in {place}")
    replaced = make(method)
    replaced.__wrapped__ = method
    setattr(found, name, replaced)


def code_hash(method: Callable) -> str:
    """16 hex digits of the source text of a method."""
    return hashlib.sha256(inspect.getsource(method).encode()).hexdigest()[:16]


def _not_fitting(reason: str) -> UserError:
    import snakemake

    return UserError(
        f"snakemake: version {snakemake.__version__} {reason}, which the workflow replaces; "
        "install the version in requirements.lock (make setup)."
    )
