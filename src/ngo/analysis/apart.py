"""The fields that tell runs apart in a table or figure. Runs that agree on all are seeds of one."""

from __future__ import annotations

from collections.abc import Iterable

from ngo.common.registry import UserError

CELL = ("dataset", "partition", "topology", "method")
"""The fields of a row in a table of methods."""


def pooled(apart: Iterable[str], runs: Iterable[str]) -> UserError:
    """The error for ``runs`` with the same seed that agree on all fields in ``apart``.

    They would be averaged as if they were seeds of the same run.
    """
    return UserError(
        f"runs are told apart here by {', '.join(apart)} and seed alone, but there are "
        f"{', '.join(runs)}; give runs that differ otherwise an experiment of their own."
    )
