"""What the workers do with their gradients: one step of each protocol, as in its pseudocode.

A protocol is a function ``(t, X, G, W, spec) → messages``: at step t it changes the state ``X``
``[n, d]`` in place, given the gradients ``G`` at ``X`` and the step's mixing matrix ``W``, and
returns how many models were sent from one machine to another. It is registered with the fields of
a run that it reads, and with those that it fixes. (torch comes in with the coupling, where it is
used, so that the names can be checked without its start-up cost.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from typing import Protocol as Interface

from ngo.registry import Decorator, Registry

if TYPE_CHECKING:
    import torch


class Settings(Interface):
    """The fields of a run that protocols read (see :class:`ngo.spec.RunSpec`)."""

    lr: float
    gamma: float
    p: float
    local_steps: int


Step = Callable[[int, "torch.Tensor", "torch.Tensor", "torch.Tensor | None", Settings], int]


@dataclass(frozen=True)
class Protocol:
    """``fields`` are the fields of a run that mean something here; ``fixed`` has set values."""

    step: Step
    fields: tuple[str, ...]
    fixed: Mapping[str, object] = field(default_factory=dict)

    @property
    def decentralized(self) -> bool:
        """Whether workers talk to neighbours, over a topology."""
        return "topology" in self.fields


PROTOCOLS: Registry[Protocol] = Registry("protocol")


def protocol(name: str, *, fields: tuple[str, ...] = (), **fixed: object) -> Decorator:
    """Register a protocol under the name that configs and the command line use."""

    def register(step: Step) -> Step:
        PROTOCOLS.add(name, Protocol(step, fields, fixed))
        return step

    return register


@protocol("centralized")
def centralized(
    t: int, X: torch.Tensor, G: torch.Tensor, W: torch.Tensor | None, spec: Settings
) -> int:
    """X ← x − η (1/n) Σᵢ gᵢ at one shared x: a parameter server.

    Each worker sends a gradient and receives the model.
    """
    X.sub_(G.mean(0), alpha=spec.lr)
    return 2 * len(X)


@protocol("gossip", fields=("topology", "gamma"), p=1.0, local_steps=1)
@protocol("ngo", fields=("topology", "gamma", "p"), local_steps=1)
def gossip(t: int, X: torch.Tensor, G: torch.Tensor, W: torch.Tensor, spec: Settings) -> int:
    """Algorithm 1: a half step along the own gradient, then the exchange of half-step models.

    x_i^(t+1/2) = x_i − η g_i;  x_i^(t+1) = x_i^(t+1/2) + γ Σ_j W_ij φ_p(x_j − x_i)^(t+1/2).
    Linear gossip is the same with p = 1.
    """
    X.sub_(G, alpha=spec.lr)
    return consensus_step(X, W, spec)


@protocol("local_sgd", fields=("topology", "gamma", "p", "local_steps"))
def local_sgd(t: int, X: torch.Tensor, G: torch.Tensor, W: torch.Tensor, spec: Settings) -> int:
    """SGD on one's own data; every H-th step (H = ``local_steps``) a consensus step follows."""
    X.sub_(G, alpha=spec.lr)
    if (t + 1) % spec.local_steps:
        return 0
    return consensus_step(X, W, spec)


def consensus_step(X: torch.Tensor, W: torch.Tensor, spec: Settings) -> int:
    """Every worker pulls towards its neighbours; a message crosses each edge in each direction."""
    from ngo.coupling import gossip_step

    X.copy_(gossip_step(X, W, spec.gamma, spec.p))
    return int(W.count_nonzero() - W.diagonal().count_nonzero())
