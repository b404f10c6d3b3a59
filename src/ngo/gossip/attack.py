"""Attacks: what Byzantine workers send in place of their rows, and exchanges with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ngo.common.fields import Entry, Options, above, at_least, number, registers, whole
from ngo.common.lazy import Run, Tensor, torch
from ngo.common.registries import ATTACKS, HONEST
from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from verdicts.registry import UserError


@dataclass(frozen=True)
class Messages:
    """What the l Byzantine neighbours of an honest worker i know when they send their messages.

    They know each other, and what all workers send.
    """

    #: The rows that they have, and honest workers would send, ``[l, d]``.
    truth: Tensor
    #: What i sends, ``[d]``.
    receiver: Tensor
    #: What the m honest neighbours of i send, ``[m, d]``, and their weights W_ik ``[m]``.
    honest: Tensor
    weights: Tensor
    #: Σ_j W_ij over the l Byzantine neighbours.
    liars_weight: float
    #: A random stream of these messages.
    generator: torch.Generator


#: ``(messages, run)`` → what they send to i, ``[l, d]``, or ``[d]`` if all send the same.
Send = Callable[[Messages, "Run"], "Tensor"]


LIARS: Options = {"liars": whole("number of Byzantine workers, the last ones", 1, at_least(1))}


def attack(
    name: str, *, options: Options | None = None, version: int = 1
) -> Callable[[Send], Send]:
    """Register an attack under the name that configs and commands use (key ``attack``).

    ``options`` are new fields of a run. Every attack has the field ``liars``. ``version`` is raised
    when its results change.
    """
    return registers(ATTACKS, name, Entry, {**LIARS, **(options or {})}, version)


def honest(messages: Messages, run: Run) -> Tensor:
    """All workers are honest."""
    return messages.truth


ATTACKS.add(HONEST, Entry(honest, ()), honest)


ALIE = {"lie_deviations": number("standard deviations z between a lie and the mean", 1.0, above(0))}


@attack("alie", options=ALIE)
def alie(messages: Messages, run: Run) -> Tensor:
    """A little is enough (ALIE; Baruch, Baruch and Goldberg 2019): μ − z σ is sent.

    μ and σ are the mean and the standard deviation, in each entry, of what the receiver and its
    honest neighbours send, as He, Karimireddy and Jaggi (2022) adapt Algorithm 3 to graphs; z is
    ``lie_deviations``. σ divides by the number of these workers. The bound z_max of the paper
    supposes a majority vote of all workers, and is negative for few Byzantine ones; here z is free.
    """
    rows = torch.cat([messages.receiver[None], messages.honest])
    mean = rows.mean(0)
    return mean - run.lie_deviations * (rows - mean).square_().mean(0).sqrt_()


DISSENSUS = {"lie_push": number("factor ε of a lie against the honest pulls", 1.0, above(0))}


@attack("dissensus", options=DISSENSUS)
def dissensus(messages: Messages, run: Run) -> Tensor:
    """Dissensus (He, Karimireddy and Jaggi 2022): a pull against the honest neighbours.

    It sends x_i − ε Σ_k W_ik (x_k − x_i) / Σ_j W_ij to worker i, with sums over the honest
    neighbours k and the Byzantine ones j. At ε = ``lie_push`` = 1, linear gossip does not move i.
    """
    pull = messages.weights @ (messages.honest - messages.receiver)
    return messages.receiver - run.lie_push / messages.liars_weight * pull


NOISE = {"lie_noise": number("standard deviation of the noise in a lie", 1.0, above(0))}


@attack("noise", options=NOISE)
def noise(messages: Messages, run: Run) -> Tensor:
    """x_j is sent with Gaussian noise in each entry, of the standard deviation ``lie_noise``.

    Each message has its own draws.
    """
    noise = torch.empty_like(messages.truth).normal_(0, run.lie_noise, generator=messages.generator)
    return messages.truth + noise


@attack("sign_flip")
def sign_flip(messages: Messages, run: Run) -> Tensor:
    """−x_j is sent (the bit flipping of He, Karimireddy and Jaggi 2022)."""
    return -messages.truth


#: ``(X, W, at=…, out=…)`` → the rows after a step; the differences are those of ``at``.
Take: TypeAlias = "Callable[..., Tensor]"


class Byzantine:
    """The Byzantine workers of a run, the last ones, which send false rows to all others.

    Apart from that they learn as all workers do: they have data, and take what they receive. They
    tell each other the truth.
    """

    def __init__(self, attack: Entry, run: Run, seed: int, honest: int) -> None:
        """The first ``honest`` workers are not Byzantine. ``run`` has the fields of the attack."""
        self._attack, self._run, self._seed, self._honest = attack, run, seed, honest

    def step(self, take: Take, X: Tensor, W: MixingMatrix, t: int, at: Tensor | None) -> Tensor:
        """Return the rows ``[n, d]`` after an exchange in which Byzantine workers send false rows.

        ``W`` is symmetric. ``t`` is the number of the exchange; it is part of the key of the random
        draws.

        ``take`` is called on a larger graph, with two kinds of additional nodes. On each edge from
        a Byzantine worker to an honest one, the sender is replaced by a node that holds the false
        row. On each edge from an honest worker to a Byzantine one, it is replaced by a copy of the
        honest worker. The results of the additional nodes are dropped.
        """
        i, j, h = W.receivers, W.senders, self._honest
        lied, reported = (i < h) & (j >= h), (i >= h) & (j < h)
        seen = X if at is None else at
        lies = self._false_rows(seen, W, lied, t)
        honest, rows = j[reported].unique(return_inverse=True)
        sources = j.clone()
        sources[lied] = W.n + torch.arange(len(lies))
        sources[reported] = W.n + len(lies) + rows
        apart = lied | reported
        more = len(lies) + len(honest)
        ends = torch.cat([i, sources[apart]]), torch.cat([sources, i[apart]])
        weights = torch.cat([W.weights, W.weights[apart]])
        diagonal = torch.cat([W.diagonal, torch.ones(more).double()])
        among = MixingMatrix(W.n + more, *ends, weights, diagonal)
        seen = torch.cat([seen, lies, seen[honest.to(seen.device)]])
        moved = seen if at is None else torch.cat([X, seen[W.n :]])
        return take(moved, among, at=seen, out=moved)[: W.n]

    def _false_rows(self, rows: Tensor, W: MixingMatrix, lied: Tensor, t: int) -> Tensor:
        """What goes along the ``lied`` edges, a mask; ``[lies, d]``."""
        lies = []
        for i in W.receivers[lied].unique().tolist():
            near = slice(int(W.starts[i]), int(W.starts[i + 1]))
            senders, weights = W.senders[near], W.weights[near]
            honest = senders < self._honest
            truth, theirs = (rows[senders[of].to(rows.device)] for of in (~honest, honest))
            known = theirs, weights[honest].to(rows), float(weights[~honest].sum())
            stream = torch_stream(self._seed, f"lies {t}", i, rows.device)
            messages = Messages(truth, rows[i].clone(), *known, stream)
            sent, shape = self._attack.of(messages, self._run), truth.shape
            if not isinstance(sent, torch.Tensor) or sent.shape not in (shape, shape[1:]):
                told = f"it returned {list(getattr(sent, 'shape', ())) or type(sent).__name__}"
                wanted = f"a row for each {list(shape)}, or one for all {list(shape[1:])}"
                raise UserError(f"attack {self._run.attack!r}: {told}; it must be {wanted}.")
            lies.append(sent.expand_as(truth))
        return torch.cat(lies) if lies else rows[:0]
