"""Usual words for the fields of a run, and the errors for a field that is unknown."""

import difflib
from collections.abc import Collection

from verdicts.registry import UserError, shown

# Usual words, and the fields of a run that they may mean.
USUAL = {
    "learning_rate": ("lr",),
    "eta": ("lr",),
    "step_size": ("lr", "gamma"),
    "stepsize": ("lr", "gamma"),
    "consensus_rate": ("gamma",),
    "n_workers": ("workers",),
    "num_workers": ("workers",),
    "n_nodes": ("workers",),
    "num_nodes": ("workers",),
    "n_clients": ("workers",),
    "num_clients": ("workers",),
    "n_epochs": ("epochs",),
    "num_epochs": ("epochs",),
    "algorithm": ("method",),
    "optimizer": ("local_rule",),
    "network": ("topology",),
    "alpha": ("beta",),  # of a Dirichlet distribution
    "random_state": ("seed",),
}


def usual(name: object, known: Collection[str]) -> list[str]:
    """The names among the ``known`` that a usual word of the field may mean."""
    word = str(name).lower().replace("-", "_")
    return [field for field in USUAL.get(word, ()) if field in known]


def meant(name: object, known: Collection[str]) -> str:
    """`` Did you mean 'lr'?`` with what a usual word means, else the nearest few; may be empty."""
    near = usual(name, known) or difflib.get_close_matches(str(name).lower(), known)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def unknown_field(key: str, name: object, known: Collection[str]) -> UserError:
    """The error for an unknown field of a run. The ``known`` are too many to list."""
    return UserError(
        f"{key}: {shown(name)} is unknown.{meant(name, known)} `ngo fields` lists all."
    )
