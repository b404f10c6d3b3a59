"""Whether the processes of a run agree on it: each publishes its terms, and all compare them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

import ngo
from ngo.common.registry import shown
from ngo.distributed.meeting import Meeting
from ngo.training.results_version import results_version
from ngo.training.spec import RunSpec

# How many terms, and how many of their values, a message names.
NAMED_TERMS, NAMED_VALUES = 3, 4

# How many processes with one value a message names.
NAMED_PROCESSES = 5

# The numbers of results: they depend on other terms, such as the model, and come after them.
CODE = "code"

Terms = Mapping[str, object]


def run_terms(spec: RunSpec, **how: object) -> dict[str, object]:
    """The terms before the data are read; those of ``how`` the run is distributed come first."""
    return {
        **how,
        "version": ngo.__version__,
        "torch": str(torch.__version__),
        **spec.values(),
        CODE: results_version(spec),
    }


def data_terms(about: Terms) -> dict[str, object]:
    """The terms after the data are read, of those that identify the run."""
    sizes = {name: about[name] for name in ("train_samples", "test_samples")}
    return {**sizes, "data": about["data_digest"], "partition": about["parts"]}


def agree(meeting: Meeting, name: str, terms: Terms, timeout: float = math.inf) -> None:
    """Return when all processes have published equal terms under ``name``.

    Raises a UserError in all processes if they differ, with the terms and the processes that do.
    """
    published = meeting.gather(name, dict(terms), timeout)
    if message := disagreement([_scalars(each) for each in published]):
        raise meeting.refusal(f"distributed: the processes do not agree: {message}.")


def disagreement(terms: Sequence[Terms]) -> str:
    """The terms by which the processes differ, and who has which value; empty if none differ.

    The code is named only if nothing else differs. The values may come from strangers: they are
    escaped and shortened.
    """
    differing = []
    for key in dict.fromkeys(key for each in terms for key in each):
        holders: dict[str, list[int]] = {}
        for q, each in enumerate(terms):
            holders.setdefault(repr(each.get(key)), []).append(q)
        if len(holders) > 1 and not (key == CODE and differing):
            values = {who[0]: shown(terms[who[0]].get(key)) for who in holders.values()}
            differing.append(_in_words(key, list(holders.values()), values))
    return _some(differing, NAMED_TERMS, "; ")


def _in_words(key: str, holders: list[list[int]], values: Mapping[int, str]) -> str:
    """``process 2 has lr 0.5, the others 0.1``; without a majority all processes are named.

    ``holders`` are the processes with the same value, and ``values`` those of the first in each.
    """
    name = key if key.isidentifier() and key.isascii() and len(key) <= 40 else shown(key)
    *few, many = sorted(holders, key=len)
    majority = len(many) > len(few[-1])
    parts = []
    for who in few if majority else sorted(holders):
        numbers = _some([str(q) for q in who], NAMED_PROCESSES, ", ")
        have = f"process {numbers} has" if len(who) == 1 else f"processes {numbers} have"
        parts.append(f"{have} {name} {values[who[0]]}")
    rest = [f"the others {values[many[0]]}"] if majority else []
    return ", ".join([_some(parts, NAMED_VALUES, ", "), *rest])


def _some(parts: Sequence[str], most: int, between: str) -> str:
    more = [f"and {len(parts) - most} more"] if len(parts) > most else []
    return between.join([*parts[:most], *more])


def _scalars(published: object) -> dict[str, object]:
    """The terms that a process has published; values that no term has are left out."""
    terms = published if isinstance(published, dict) else {}
    return {k: v for k, v in terms.items() if v is None or isinstance(v, str | int | float)}
