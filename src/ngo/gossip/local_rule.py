"""Local rules: how a worker moves along its own gradient, before any exchange (the half step)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.common.options import Options, declare, takes_options
from ngo.common.registry import Registry

if TYPE_CHECKING:
    from ngo.gossip.step import Step
    from ngo.native.elementwise import Chain

Descend = Callable[["Step"], "Chain | None"]


@dataclass(frozen=True)
class LocalRule:
    """An entry of the registry."""

    #: Takes the half step: changes ``step.X`` in place, or, with ``chain``, returns what does so.
    descend: Descend
    #: The options that the rule declares.
    fields: tuple[str, ...] = ()
    #: Whether the half step is linear in the gradients so far.
    linear: bool = True
    #: Whether weight decay shrinks the parameters, instead of being part of the gradient.
    decoupled_decay: bool = False
    #: The number of matrices [n, d] that it keeps.
    matrices: int = 0
    #: Whether ``descend`` returns the half step as a chain (see ``Step.elementwise``).
    chain: bool = False


LOCAL_RULES: Registry[LocalRule] = Registry("local_rule")


@takes_options
def local_rule(
    name: str,
    *,
    linear: bool = True,
    decoupled_decay: bool = False,
    matrices: int = 0,
    chain: bool = False,
    options: Options | None = None,
    version: int = 1,
) -> Callable[[Descend], Descend]:
    """Register a function that changes ``step.X`` in place, given ``step.G`` and ``step.lr``.

    It acts on each worker's row alone, and keeps its memory in ``step.matrix``: ``matrices`` of the
    shape ``[n, d]``, a number for the estimate of a run's memory. ``options`` are new
    fields of a run, which it reads as ``step.run.NAME``. It does not apply weight decay:
    ``Step.descend`` adds it to the gradient, or, with ``decoupled_decay``, shrinks the parameters.
    With ``chain`` the function changes nothing, and returns the half step as a chain of elementwise
    operations, which takes one pass over memory together with those of the method.
    Methods whose correction is linear in the gradients refuse a rule that is not ``linear``, such
    as Adam. ``version`` is raised when its results change.
    """

    def register(descend: Descend) -> Descend:
        fields = declare("local_rule", name, options)
        entry = LocalRule(descend, fields, linear, decoupled_decay, matrices, chain)
        LOCAL_RULES.add(name, entry, descend, version)
        return descend

    return register
