"""What runs are told apart by in a table or figure; the rest of them are seeds of one."""

from __future__ import annotations

from collections.abc import Iterable

from ngo.registry import UserError

# A row of a table of protocols.
CELL = ("dataset", "partition", "topology", "protocol")


def pooled(apart: Iterable[str], runs: Iterable[str]) -> UserError:
    """The error for ``runs`` of one seed that agree on all fields in ``apart``: they would pass for
    seeds of one and the same.
    """
    return UserError(
        f"runs are told apart here by {', '.join(apart)} and seed alone, but there are "
        f"{', '.join(runs)}; give runs that differ otherwise an experiment of their own."
    )
