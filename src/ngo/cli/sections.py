"""The sections of the help of a command that trains a run."""

from __future__ import annotations

from ngo.common.options import DECLARED

COMMAND = "Files, processes and devices"
"""The section of options that are no fields of a run."""

SECTIONS = {
    "Data and task": (
        *("dataset", "model", "task", "augmentation", "partition", "shards", "shards_per_worker"),
        *("samples_per_worker", "beta", "holdout"),
    ),
    "Workers and graph": ("workers", "topology", "u", "weights"),
    "Method and gossip": (
        *("method", "initialization", "order", "coupling", "p", "compression", "gamma"),
        *("gamma_decay", "local_steps", "delay", "v_threshold", "schedule"),
    ),
    "Local steps": (
        *("local_rule", "lr", "lr_schedule", "warmup", "weight_decay", "batch_size"),
        *("short_share", "epochs"),
    ),
    "Failures and liars": ("link_failure", "absence", "attack"),
    "Virtual time": ("clock",),
    "Evaluation": ("eval_every", "eval_images", "eval_workers"),
    "Computation": ("seed", "precision", "backend"),
}
"""The fields of a run in each section; an option that an entry declares follows its owner."""

_OF = {name: title for title, names in SECTIONS.items() for name in names}


def section_of(name: str) -> str:
    """The section of an option."""
    while name not in _OF and name in DECLARED:
        name = DECLARED[name].owners[0]
    return _OF.get(name, COMMAND)
