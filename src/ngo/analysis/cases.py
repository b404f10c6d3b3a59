"""The cases of an experiment: the fields that distinguish its runs, and names made of them.

Runs that agree on all of these fields are seeds of the same case.
"""

from __future__ import annotations

from collections.abc import Iterable

from ngo.common.lazy import pd
from ngo.training.spec import FIELDS, fields_in
from verdicts.registry import UserError

#: The fields of a row in a table of methods.
CELL = ("dataset", "partition", "topology", "method")


def pooled(apart: Iterable[str], runs: Iterable[str]) -> UserError:
    """The error for ``runs`` with the same seed that agree on all fields in ``apart``.

    Their mean would mix two cases.
    """
    told = f"runs are distinguished here by {', '.join(apart)} and seed alone"
    advice = "put runs that differ in other fields into another experiment"
    return UserError(f"{told}, but there are {', '.join(runs)}; {advice}.")


#: The fields that tell cases apart first.
FIRST = ("method", *CELL[:3])

#: Names in words that are more than the name without its underscores.
WORDS = {"ngo": "NGO", "d2": "D²", "dsgd": "DSGD", "mnist": "MNIST", "cifar10": "CIFAR-10"}


def cases(metrics: pd.DataFrame, fields: Iterable[str] | None = None) -> pd.Series:
    """A name for the case of each row: the values of ``fields`` (all) that tell runs apart.

    A field that tells no more runs apart than those before it is left out. Empty where none does.
    """
    known = telling_fields(metrics) if fields is None else [*fields]
    values = metrics[known].astype(object).where(metrics[known].notna(), "").map(str)
    chosen: list[str] = []
    count = 1
    for name in known:
        if (more := len(values[[*chosen, name]].drop_duplicates())) > count:
            chosen, count = [*chosen, name], more
    names = pd.Series("", values.index)
    for name in chosen:
        part = pd.Series(_in_words(name, values), values.index)
        names += part.where((names == "") | (part == ""), ", " + part)
    return names


def telling_fields(metrics: pd.DataFrame) -> list[str]:
    """The fields in a tidy table in which runs differ, but for the seed; ``FIRST`` first."""
    known = [name for name in fields_in(metrics) if name != "seed"]
    known = [name for name in known if metrics[name].nunique(dropna=False) > 1]
    return sorted(known, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


def _shared(name: str, values: pd.DataFrame) -> bool:
    """Whether another field has a value of this one: ``sgd`` is a local and an outer rule."""
    names = set(values[name]) - {""}
    return name not in FIRST and any(
        FIELDS[other].kind is str and names & set(values[other])
        for other in values.columns.drop(name)
    )


def _in_words(name: str, values: pd.DataFrame) -> list[str]:
    """``ring`` for a name, ``p = 0.9`` for a number, nothing for a field that has no value."""
    numeric = FIELDS[name].kind in (int, float)
    start = f"{name} = " if numeric or _shared(name, values) else ""
    shown = [f"{float(value):g}" if numeric and value else value for value in values[name]]
    return [start.replace("_", " ") + worded(value) if value else "" for value in shown]


def worded(name: str) -> str:
    """A name in words: ``one peer ring``."""
    return WORDS.get(name, name.replace("_", " "))
