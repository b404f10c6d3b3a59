"""Attacks: what workers that lie send in place of their rows. Each is a file in ``attacks``.

Names, options and ranges are known without importing torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.common.fields import at_least, whole
from ngo.common.options import Options, declare, takes_options
from ngo.common.registry import Registry

if TYPE_CHECKING:
    import torch

    from ngo.gossip.step import Run

HONEST = "none"
"""The name of the attack in which no worker lies."""


@dataclass(frozen=True)
class Messages:
    """The messages to an honest worker i of the l liars among its neighbours, and what these know.

    Liars know each other, and what all workers send.
    """

    #: What the liars would send if they did not lie, ``[l, d]``.
    truth: torch.Tensor
    #: What i sends, ``[d]``.
    receiver: torch.Tensor
    #: What the m honest neighbours of i send, ``[m, d]``, and their weights W_ik ``[m]``.
    honest: torch.Tensor
    weights: torch.Tensor
    #: Σ_j W_ij over the l liars.
    liars_weight: float
    #: A random stream of these messages.
    generator: torch.Generator


#: ``(messages, run)`` → what the liars send to i, ``[l, d]``, or ``[d]`` if all send the same.
Lie = Callable[[Messages, "Run"], "torch.Tensor"]


@dataclass(frozen=True)
class Attack:
    """An entry of the registry."""

    lie: Lie
    #: The fields of a run that it reads.
    fields: tuple[str, ...]


ATTACKS: Registry[Attack] = Registry("attack")

LIARS: Options = {"liars": whole("number of workers that lie, the last ones", 1, at_least(1))}


@takes_options
def attack(name: str, *, options: Options | None = None, version: int = 1) -> Callable[[Lie], Lie]:
    """Register a lie under the name that configs and commands use (key ``attack``).

    ``options`` are new fields of a run. Every attack has the field ``liars``. ``version`` is raised
    when its results change.
    """

    def register(lie: Lie) -> Lie:
        own = declare("attack", name, {**LIARS, **(options or {})})
        ATTACKS.add(name, Attack(lie, own), lie, version)
        return lie

    return register


def no_lie(messages: Messages, run: Run) -> torch.Tensor:
    """No worker lies."""
    return messages.truth


ATTACKS.add(HONEST, Attack(no_lie, ()), no_lie)
