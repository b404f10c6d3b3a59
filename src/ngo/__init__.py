"""Nonlinear gossiping (NGO) for decentralized optimization.

``fit`` trains a ``torch.nn.Module`` with n workers; ``compare`` tunes methods, and ranks them;
``plot`` draws what was measured. The decorators (``topology``, ``method``, ``local_rule``,
``lr_schedule``, ``schedule``, ``coupling``, ``compression``, ``attack``, ``model``, ``task``,
``dataset``, ``partition``, ``measurement``) register a user's entries. Their options are declared
with ``number`` or ``whole`` and a range, ``choice`` or ``file``. ``load_plugins`` imports files
that register entries. A wrong value raises a ``UserError``.

Importing the package is quick: a name's module is imported when the name is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing's own, without the import: each short job starts a client

if TYPE_CHECKING:
    from ngo.plots.experiment import plot as plot
    from ngo.training.compare import Compared, compare  # noqa: F401
    from ngo.training.fit import Fit, Interrupted, fit  # noqa: F401

__version__ = "0.1.0"

# The names of the interface, by the module that defines them.
_NAMES = {
    "ngo.training.fit": ("fit", "Fit", "Interrupted", "RunState"),
    "ngo.training.compare": ("compare", "Compared"),
    "ngo.plots.experiment": ("plot",),
    "ngo.gossip.topology": ("topology",),
    "ngo.gossip.method": ("method",),
    "ngo.gossip.step": ("local_rule",),
    "ngo.gossip.schedule": ("lr_schedule", "schedule"),
    "ngo.gossip.coupling": ("coupling",),
    "ngo.gossip.compression": ("compression", "Codec"),
    "ngo.gossip.attack": ("attack",),
    "ngo.models.model": ("model",),
    "ngo.models.task": ("task",),
    "ngo.data.dataset": ("dataset", "Arrays"),
    "ngo.data.partition": ("partition", "owners"),
    "ngo.measures.measurement": ("measurement",),
    "ngo.common.fields": (
        *("number", "whole", "choice", "file"),
        *("within", "above", "below", "at_least"),
    ),
    "ngo.common.plugins": ("load_plugins",),
    "verdicts.registry": ("UserError",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'ngo' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
