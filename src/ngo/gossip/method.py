"""Methods: what the workers do with their gradients in a training step.

A method is a function of a ``Step`` (see ``step``), which reads like its pseudocode; they are in
``methods``. Names, fields and ranges are known without importing torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from functools import cached_property
from typing import Any

from ngo.common.fields import Names, Options, registers
from ngo.common.lazy import Run
from ngo.common.registries import COMPRESSIONS, METHODS
from ngo.gossip.step import Step

Update = Callable[["Step"], None]

# The fields of a method that pulls along the edges of a graph through the run's coupling.
GOSSIP_FIELDS = ("topology", "gamma", "gamma_decay", "coupling", "p")

# The same of a method whose workers may count unequally: it exchanges by pulls and means alone.
WEIGHED = (*GOSSIP_FIELDS, "objective")

#: What a method fixes that exchanges once in each step.
ONE_EXCHANGE: dict[str, Any] = {"local_steps": 1, "delay": 0}

#: What a method fixes whose pulls are linear, and one that takes W X in an exchange.
LINEAR: dict[str, Any] = {"coupling": "power", "p": 1.0}
WHOLE_AVERAGES: dict[str, Any] = {**LINEAR, "gamma": 1.0, "gamma_decay": 0.0}

# The graphs that a method may ask for.
GRAPHS = ("any", "fixed", "tree")

# What a step takes without waiting: the newest model of each neighbour, all messages that have
# arrived, each once, or the model of one random neighbour, which takes the worker's.
ARRIVALS = ("newest", "all", "pair")

# The fields of every decentralized method: failures that the step handles, and others.
FAILURES = ("link_failure", "absence")
DECENTRALIZED = (*FAILURES, "initialization", "weights", "schedule")

# The field of a method that sends nothing but rows which are pulled or mixed along edges: a
# Byzantine neighbour may send others.
ATTACKED = ("attack",)


@dataclass(frozen=True)
class Method:
    """An entry of the registry."""

    #: Takes one step: changes ``step.X`` in place.
    update: Update
    #: The fields of a run that the method reads; with ``topology`` it is decentralized.
    fields: tuple[str, ...]
    #: Fields that have one value under this method, which a run cannot change.
    fixed: Mapping[str, object] = field(default_factory=dict)
    #: Whether the newest model received from a neighbour is all that a step needs of it.
    asynchronous: bool = False
    #: What a step takes in a run in which no worker waits: one of ``ARRIVALS``.
    arrivals: str = "newest"
    #: Whether it allows directed graphs, whose weights are only column-stochastic.
    directed: bool = False
    #: The graphs that it allows: ``any``, ``fixed`` (the same in all steps) or ``tree``.
    graph: str = "any"
    #: The numbers in each message that crosses an edge, in each direction, in a step with an
    #: exchange (see ``sent``). Empty if that is not known before the run.
    sends: tuple[str, ...] = ("d",)
    #: Whether the local rule has to be linear in the gradients.
    linear_rule: bool = False
    #: Whether several runs may take it as one: of other workers' rows, a step knows what the
    #: network pulls, mixes, sends or takes the mean of; it draws nothing.
    joint: bool = False
    #: Whether it begins with ``step.descend()`` (from step 1 on), and reads ``step.G`` nowhere.
    descends: bool = False
    #: The reason why no link may fail and no worker may be away; empty if they may.
    needs_every_message: str = ""

    @cached_property
    def decentralized(self) -> bool:
        """Whether workers talk to neighbours, over a topology."""
        return "topology" in self.fields

    @property
    def bears_failures(self) -> bool:
        """Whether links may fail and workers be away."""
        return self.decentralized and not self.needs_every_message


# What a method states of itself, apart from the fields that it reads or fixes.
STATED = tuple(fact.name for fact in dataclass_fields(Method)[3:])


def method(
    name: str, *, fields: Names = (), options: Options | None = None, version: int = 1, **facts: Any
) -> Callable[[Update], Update]:
    """Register a method under the name that configs and commands use (key ``method``).

    - ``fields``: the fields of a run that it reads, other than the learning rate.
    - ``options``: new fields of a run.
    - ``version``: raised when its results change.

    ``facts`` are facts of ``Method``, and fields with one value under this method:

    - ``asynchronous``: each step exchanges at most one matrix, with the same meaning each time. A
      neighbour's newest model may be any number of steps old.
    - ``arrivals``: what a step takes where no worker waits (``ARRIVALS``).
    - ``directed``: it needs no symmetric mixing matrix.
    - ``graph``: ``fixed``, or a ``tree``, if a step uses what the same neighbours sent before.
    - ``sends``: its messages (see ``NUMBERS``).
    - ``linear_rule``: it is biased with a local rule that is not linear in the gradients.
    - ``joint``: several runs may take it as one (see ``Method``).
    - ``descends``: workers may take the half step with their gradients (see ``Method``).
    - ``needs_every_message``: why it cannot lose a message, to complete "method 'NAME' …".
    """
    stated = {key: facts.pop(key) for key in STATED if key in facts}
    pulls = "coupling" in (*fields, *facts) and set(stated.get("sends", Method.sends)) == {"d"}
    shared = (*DECENTRALIZED, *(ATTACKED if pulls else ())) if "topology" in fields else ()

    def entry(update: Update, declared: tuple[str, ...]) -> Method:
        return Method(update, (*fields, *shared, *declared), facts, **stated)

    return registers(METHODS, name, entry, options, version)


# The messages that a method may declare: a row, a number, a row and a number, a compressed row.
NUMBERS = ("d", "1", "d + 1", "C(d)")


def sent(run: Run, d: int, number: int = 4) -> list[int] | None:
    """The bytes of each message that crosses each edge, in each direction, in a step of ``run``.

    ``d`` is the length of a row, ``number`` the bytes of a number. A parameter server has an edge
    to each worker. Methods with H local steps send only in every H-th step. None if the number of
    messages depends on V.
    """

    def size(numbers: str) -> int:
        if numbers == "C(d)":
            return COMPRESSIONS[run.compression].of.size(d, run, number)
        return {"d": d, "1": 1, "d + 1": d + 1}[numbers] * number

    return [size(numbers) for numbers in METHODS[run.method].sends] or None
