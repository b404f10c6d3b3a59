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

# Each name of the interface: the module that defines it, and its name there.
_INTERFACE = {
    "fit": ("ngo.training.fit", "fit"),
    "Fit": ("ngo.training.fit", "Fit"),
    "compare": ("ngo.training.compare", "compare"),
    "Compared": ("ngo.training.compare", "Compared"),
    "plot": ("ngo.plots.experiment", "plot"),
    "Interrupted": ("ngo.training.fit", "Interrupted"),
    "RunState": ("ngo.training.fit", "RunState"),
    "topology": ("ngo.gossip.topology", "topology"),
    "method": ("ngo.gossip.method", "method"),
    "local_rule": ("ngo.gossip.step", "local_rule"),
    "lr_schedule": ("ngo.gossip.schedule", "lr_schedule"),
    "schedule": ("ngo.gossip.schedule", "schedule"),
    "coupling": ("ngo.gossip.coupling", "coupling"),
    "compression": ("ngo.gossip.compression", "compression"),
    "attack": ("ngo.gossip.attack", "attack"),
    "Codec": ("ngo.gossip.compression", "Codec"),
    "model": ("ngo.models.model", "model"),
    "dataset": ("ngo.data.dataset", "dataset"),
    "owners": ("ngo.data.partition", "owners"),
    "partition": ("ngo.data.partition", "partition"),
    "task": ("ngo.models.task", "task"),
    "measurement": ("ngo.measures.measurement", "measurement"),
    "Arrays": ("ngo.data.dataset", "Arrays"),
    "number": ("ngo.common.fields", "number"),
    "whole": ("ngo.common.fields", "whole"),
    "choice": ("ngo.common.fields", "choice"),
    "file": ("ngo.common.fields", "file"),
    "within": ("ngo.common.fields", "within"),
    "above": ("ngo.common.fields", "above"),
    "below": ("ngo.common.fields", "below"),
    "at_least": ("ngo.common.fields", "at_least"),
    "load_plugins": ("ngo.common.plugins", "load"),
    "UserError": ("verdicts.registry", "UserError"),
}

__all__ = ["__version__", *_INTERFACE]


def __getattr__(name: str) -> object:
    if name not in _INTERFACE:
        raise AttributeError(f"module 'ngo' has no attribute {name!r}")
    module, attribute = _INTERFACE[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_INTERFACE])
