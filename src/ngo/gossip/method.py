"""Methods: what the workers do with their gradients in a training step.

A method is a function of a ``Step`` (see ``step``), in a file of its own in ``methods``, that reads
like its pseudocode. Light: names, fields and ranges are known without importing torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ngo.common.options import Options, declare, takes_options
from ngo.common.registry import Registry

if TYPE_CHECKING:
    from ngo.gossip.step import Step

Update = Callable[["Step"], None]

# The fields of a method that pulls along the edges of a graph through the run's coupling.
GOSSIP_FIELDS = ("topology", "gamma", "gamma_decay", "coupling", "p")

# The graphs that a method may ask for.
GRAPHS = ("any", "fixed", "tree")

# Those of every decentralized method, which the step takes into account.
FAILURES = ("link_failure", "absence")


@dataclass(frozen=True)
class Method:
    """An entry of the registry."""

    #: Takes one step: changes ``step.X`` in place.
    update: Update
    #: The fields of a run that the method reads; with ``topology`` it is decentralized.
    fields: tuple[str, ...]
    #: Fields that have one value under this method, which nobody can change.
    fixed: Mapping[str, object] = field(default_factory=dict)
    #: Whether a step needs no more of a neighbour than the newest model received from it.
    asynchronous: bool = False
    #: Whether it allows directed graphs, whose weights are column-stochastic only.
    directed: bool = False
    #: The graphs that it allows: ``any``, ``fixed`` (the same in all steps) or ``tree``.
    graph: str = "any"
    #: What crosses each edge, in each direction, in a step with an exchange (see ``traffic``): the
    #: numbers of each message. Empty if that is not known before the run.
    sends: tuple[str, ...] = ("d",)
    #: Whether the local rule has to be linear in the gradients.
    linear_rule: bool = False
    #: Why no link may fail and no worker may be away; empty if they may.
    needs_every_message: str = ""

    @property
    def decentralized(self) -> bool:
        """Whether workers talk to neighbours, over a topology."""
        return "topology" in self.fields


METHODS: Registry[Method] = Registry("method")


@takes_options
def method(
    name: str,
    *,
    fields: tuple[str, ...] = (),
    asynchronous: bool = False,
    directed: bool = False,
    graph: str = "any",
    sends: tuple[str, ...] = ("d",),
    linear_rule: bool = False,
    needs_every_message: str = "",
    options: Options | None = None,
    **fixed: object,
) -> Callable[[Update], Update]:
    """Register a method under the name that configs and commands use (key ``method``).

    ``fields`` are the fields of a run that it reads, beside the learning rate; ``options`` are
    those that it adds; ``fixed`` are fields with one value here. Declare it ``asynchronous`` only
    if each step exchanges one matrix at most, with the same meaning each time, since a neighbour's
    newest model may be any number of steps old. Declare it ``directed`` if it needs no symmetric
    mixing matrix, and its ``graph`` ``fixed`` (or a ``tree``) if a step builds on what the same
    neighbours have sent before. ``linear_rule``: it is biased with a local rule that is not linear
    in the gradients. ``needs_every_message`` is the reason why it cannot lose a message, if it
    cannot: it completes the sentence "method 'NAME' …". ``sends`` lists its messages (see
    ``traffic.NUMBERS``).
    """

    def register(update: Update) -> Update:
        own = declare("method", name, options)
        failures = FAILURES if "topology" in fields else ()
        entry = Method(
            update,
            (*fields, *failures, *own),
            fixed,
            asynchronous=asynchronous,
            directed=directed,
            graph=graph,
            sends=sends,
            linear_rule=linear_rule,
            needs_every_message=needs_every_message,
        )
        METHODS.add(name, entry, update)
        return update

    return register
