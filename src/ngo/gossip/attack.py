"""Attacks: what workers that lie send in place of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngo.common.fields import above, at_least, number, whole
from ngo.common.options import Options, declare
from ngo.common.registry import Registry

if TYPE_CHECKING:
    import torch
    from torch import Tensor

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


ALIE = {"lie_deviations": number("standard deviations z between a lie and the mean", 1.0, above(0))}


@attack("alie", options=ALIE)
def alie(messages: Messages, run: Run) -> torch.Tensor:
    """A little is enough (ALIE; Baruch, Baruch and Goldberg 2019): a liar sends μ − z σ.

    μ and σ are the mean and the standard deviation, in each entry, of what the receiver and its
    honest neighbours send, as He, Karimireddy and Jaggi (2022) adapt Algorithm 3 to graphs; z is
    ``lie_deviations``. σ divides by the number of these workers. The bound z_max of the paper
    supposes a majority vote of all workers, and is negative for few liars; here z is free.
    """
    import torch

    rows = torch.cat([messages.receiver[None], messages.honest])
    mean = rows.mean(0)
    return mean - run.lie_deviations * (rows - mean).square_().mean(0).sqrt_()


DISSENSUS = {"lie_push": number("factor ε of a lie against the honest pulls", 1.0, above(0))}


@attack("dissensus", options=DISSENSUS)
def dissensus(messages: Messages, run: Run) -> torch.Tensor:
    """Dissensus (He, Karimireddy and Jaggi 2022): a liar pulls against the honest neighbours.

    It sends x_i − ε Σ_k W_ik (x_k − x_i) / Σ_j W_ij to worker i, with sums over the honest
    neighbours k and the liars j. At ε = ``lie_push`` = 1, linear gossip leaves i where it is.
    """
    pull = messages.weights @ (messages.honest - messages.receiver)
    return messages.receiver - run.lie_push / messages.liars_weight * pull


NOISE = {"lie_noise": number("standard deviation of the noise in a lie", 1.0, above(0))}


@attack("noise", options=NOISE)
def noise(messages: Messages, run: Run) -> Tensor:
    """A liar adds Gaussian noise with the standard deviation ``lie_noise`` to each entry of x_j.

    Each message has its own draws.
    """
    import torch

    noise = torch.empty_like(messages.truth).normal_(0, run.lie_noise, generator=messages.generator)
    return messages.truth + noise


@attack("sign_flip")
def sign_flip(messages: Messages, run: Run) -> torch.Tensor:
    """A liar sends −x_j (the bit flipping of He, Karimireddy and Jaggi 2022)."""
    return -messages.truth
