"""Whether the processes of a run agree on it: each publishes its terms, and all compare them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import torch

import ngo
from ngo.common.registry import shown
from ngo.distributed.meeting import Meeting
from ngo.training.results_version import results_version
from ngo.training.spec import RunSpec

# How many terms, and how many processes of each, a message names.
NAMED = 3

Terms = Mapping[str, object]


def run_terms(spec: RunSpec, **how: object) -> Terms:
    """The terms before the data are read; those of ``how`` the run is distributed come first."""
    versions = {"version": ngo.__version__, "torch": str(torch.__version__)}
    return {**how, **versions, **spec.values(), "code": results_version(spec)}


def data_terms(about: Terms) -> Terms:
    """The terms after the data are read, of those that identify the run."""
    sizes = {name: about[name] for name in ("train_samples", "test_samples")}
    return {**sizes, "data": about["data_digest"], "partition": about["parts"]}


def agree(meeting: Meeting, name: str, terms: Terms, timeout: float = math.inf) -> None:
    """Return when all processes have published equal terms under ``name``.

    Raises a UserError in all processes if they differ, with the terms and the processes that do.
    """
    if message := disagreement(meeting.gather(name, terms, timeout)):
        raise meeting.refusal(f"distributed: the processes do not agree: {message}.")


def disagreement(terms: Sequence[Terms]) -> str:
    """``process 2 has lr 0.5, the others 0.1``; empty if all are equal."""
    differing = []
    for key in terms[0]:
        values = [repr(each.get(key)) for each in terms]
        most = Counter(values).most_common(1)[0][0]
        words = [f"process {q} has {key} {shown(each.get(key))}" for q, each in enumerate(terms)]
        if few := [words[q] for q, value in enumerate(values) if value != most]:
            others = f"the others {shown(terms[values.index(most)].get(key))}"
            differing.append(", ".join([*few[:NAMED], others]))
    return "; ".join(differing[:NAMED])
