"""What the workers do with their gradients: one step of each protocol, as in its pseudocode.

A protocol is a function ``(t, X, G, W, spec, past, network) → messages``: at step t it changes the
state ``X`` ``[n, d]`` in place, given the gradients ``G`` at ``X`` and the step's mixing matrix
``W``, and returns how many models were sent from one machine to another. ``past`` is a list of its
own, empty before the first step, for what it must remember. What takes more than a worker's own row
it asks of the ``network``: by default ``X`` has all rows; in :mod:`ngo.distributed` it has those of
one process. It is registered with the fields of a run that it reads, with those that it fixes, and
with whether its workers may run asynchronously.
Randomized communication is no protocol but a topology: ``random`` draws a fresh G(n, u) at every
step. (torch comes in with the coupling, where it is used, so that the names can be checked without
its start-up cost.)
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
    gamma_decay: float
    p: float
    local_steps: int
    delay: int
    v_threshold: float


class Network(Interface):
    """How workers reach each other. Counts are of the models that the rows ``X`` send."""

    def mean(self, G: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The mean ``[d]`` of all workers' rows, by way of a parameter server."""

    def index(self, X: torch.Tensor) -> float:
        """The synchronization index V of all workers."""

    def send(self, X: torch.Tensor, W: torch.Tensor) -> int:
        """Models cross each edge of ``W`` in each direction, and bring no pull."""

    def pull(
        self,
        X: torch.Tensor,
        W: torch.Tensor,
        gamma: float,
        p: float,
        at: torch.Tensor | None = None,
    ) -> int:
        """The same, and each worker pulls towards its neighbours (:func:`gossip_step`)."""


class OneMatrix:
    """The network of workers that are all rows of ``X``: nothing moves, but it is counted."""

    def mean(self, G: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Each worker sends a gradient and receives the model."""
        return G.mean(0), 2 * len(G)

    def index(self, X: torch.Tensor) -> float:
        """As :mod:`ngo.consensus` has it."""
        from ngo.consensus import synchronization_index

        return float(synchronization_index(X))

    def send(self, X: torch.Tensor, W: torch.Tensor) -> int:
        """The number of directed edges."""
        return int(W.count_nonzero() - W.diagonal().count_nonzero())

    def pull(
        self,
        X: torch.Tensor,
        W: torch.Tensor,
        gamma: float,
        p: float,
        at: torch.Tensor | None = None,
    ) -> int:
        """One gossip step, in place."""
        from ngo.coupling import gossip_step

        gossip_step(X, W, gamma, p, at=at, out=X)
        return self.send(X, W)


TOGETHER = OneMatrix()

Past = list["torch.Tensor"]
Step = Callable[..., int]


@dataclass(frozen=True)
class Protocol:
    """``fields`` are the fields of a run that mean something here; ``fixed`` has set values.

    ``asynchronous`` says that a step needs no more of a neighbour than the newest of its models.
    """

    step: Step
    fields: tuple[str, ...]
    fixed: Mapping[str, object] = field(default_factory=dict)
    asynchronous: bool = False

    @property
    def decentralized(self) -> bool:
        """Whether workers talk to neighbours, over a topology."""
        return "topology" in self.fields


PROTOCOLS: Registry[Protocol] = Registry("protocol")

_GAMMA = ("gamma", "gamma_decay")


def protocol(
    name: str, *, fields: tuple[str, ...] = (), asynchronous: bool = False, **fixed: object
) -> Decorator:
    """Register a protocol under the name that configs and the command line use.

    Declare it ``asynchronous`` only if each step exchanges models once at most, and each exchange
    means the same: a neighbour's newest model may have come any number of steps ago.
    """

    def register(step: Step) -> Step:
        PROTOCOLS.add(name, Protocol(step, fields, fixed, asynchronous))
        return step

    return register


@protocol("centralized")
def centralized(
    t: int,
    X: torch.Tensor,
    G: torch.Tensor,
    W: None,
    spec: Settings,
    past: Past,
    network: Network = TOGETHER,
) -> int:
    """X ← x − η (1/n) Σᵢ gᵢ at one shared x: a parameter server.

    Each worker sends a gradient and receives the model.
    """
    mean, messages = network.mean(G)
    X.sub_(mean, alpha=spec.lr)
    return messages


@protocol("gossip", fields=("topology", *_GAMMA), asynchronous=True, p=1.0, local_steps=1, delay=0)
@protocol("ngo", fields=("topology", *_GAMMA, "p"), asynchronous=True, local_steps=1, delay=0)
def gossip(
    t: int,
    X: torch.Tensor,
    G: torch.Tensor,
    W: torch.Tensor,
    spec: Settings,
    past: Past,
    network: Network = TOGETHER,
) -> int:
    """Algorithm 1: a half step along the own gradient, then the exchange of half-step models.

    x_i^(t+1/2) = x_i − η g_i;  x_i^(t+1) = x_i^(t+1/2) + γ Σ_j W_ij φ_p(x_j − x_i)^(t+1/2).
    Linear gossip is the same with p = 1.
    """
    X.sub_(G, alpha=spec.lr)
    return consensus_step(t, X, W, spec, network)


@protocol("local_sgd", fields=("topology", *_GAMMA, "p", "local_steps"), asynchronous=True, delay=0)
def local_sgd(
    t: int,
    X: torch.Tensor,
    G: torch.Tensor,
    W: torch.Tensor,
    spec: Settings,
    past: Past,
    network: Network = TOGETHER,
) -> int:
    """SGD on one's own data; every H-th step (H = ``local_steps``) a consensus step follows."""
    X.sub_(G, alpha=spec.lr)
    if (t + 1) % spec.local_steps:
        return 0
    return consensus_step(t, X, W, spec, network)


@protocol("delayed", fields=("topology", *_GAMMA, "p", "delay"), local_steps=1)
def delayed(
    t: int,
    X: torch.Tensor,
    G: torch.Tensor,
    W: torch.Tensor,
    spec: Settings,
    past: Past,
    network: Network = TOGETHER,
) -> int:
    """NGO on stale models (equation "delay"): what arrives at step t was sent at step t − τ.

    x_i^(t+1) = x_i^(t+1/2) + γ Σ_j W_ij φ_p(x_j − x_i)^(t−τ+1/2), τ = ``delay``. Before the start
    all workers agree, so the first τ steps bring no pull.
    """
    X.sub_(G, alpha=spec.lr)
    if spec.delay == 0:
        return consensus_step(t, X, W, spec, network)
    past.append(X.clone())
    if len(past) <= spec.delay:
        return network.send(X, W)
    return consensus_step(t, X, W, spec, network, at=past.pop(0))


@protocol(
    "gossip_until", fields=("topology", *_GAMMA, "v_threshold"), p=1.0, local_steps=1, delay=0
)
def gossip_until(
    t: int,
    X: torch.Tensor,
    G: torch.Tensor,
    W: torch.Tensor,
    spec: Settings,
    past: Past,
    network: Network = TOGETHER,
) -> int:
    """Linear gossip after each SGD step until V ≤ V_th = ``v_threshold`` (Figure 1).

    It ends, too, when a round no longer lowers V: at rounding, or where a graph is not connected.
    """
    X.sub_(G, alpha=spec.lr)
    messages, V, before = 0, network.index(X), float("inf")
    while spec.v_threshold < V < before:
        messages += consensus_step(t, X, W, spec, network)
        V, before = network.index(X), V
    return messages


def consensus_step(
    t: int,
    X: torch.Tensor,
    W: torch.Tensor,
    spec: Settings,
    network: Network,
    at: torch.Tensor | None = None,
) -> int:
    """Every worker pulls towards its neighbours (as they were in the state ``at``, if it is given);
    a message crosses each edge in each direction.
    """
    return network.pull(X, W, rate(t, spec), spec.p, at=at)


def rate(t: int, spec: Settings) -> float:
    """The synchronization rate γ_t = γ / (1 + t)^decay: constant where ``gamma_decay`` is 0."""
    return spec.gamma / (1 + t) ** spec.gamma_decay
