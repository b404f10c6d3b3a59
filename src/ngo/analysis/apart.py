"""The fields that distinguish the runs in a table or figure.

Runs that agree on all of them are seeds of the same case.
"""

from __future__ import annotations

from collections.abc import Iterable

from ngo.common.registry import UserError

CELL = ("dataset", "partition", "topology", "method")
"""The fields of a row in a table of methods."""


def pooled(apart: Iterable[str], runs: Iterable[str]) -> UserError:
    """The error for ``runs`` with the same seed that agree on all fields in ``apart``.

    Their mean would mix two cases.
    """
    return UserError(
        f"runs are distinguished here by {', '.join(apart)} and seed alone, but there are "
        f"{', '.join(runs)}; put runs that differ in other fields into another experiment."
    )
