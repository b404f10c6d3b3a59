"""Gossip rounds without learning, disturbed by drift, noise, delay, loss, compression or a liar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ngo.common.lazy import torch
from ngo.common.seeding import torch_stream
from ngo.gossip.attack import ATTACKS, Liars
from ngo.gossip.consensus import synchronization_index
from ngo.gossip.mixing_matrix import MixingMatrix

#: ``(X, W, at)`` → the state ``[n, d]`` after a round; the differences are those of ``at``.
Round = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Disturbance:
    """What disturbs each round; the default disturbs nothing."""

    #: Each entry of a worker moves by a constant amount in each round, as under heterogeneous
    #: gradients. This is the amounts' standard deviation over workers; their mean is 0.
    drift: float = 0.0
    #: Standard deviation of the noise that each entry receives in each round.
    noise: float = 0.0
    #: The age of the compared states, in rounds.
    delay: int = 0
    #: Probability that an edge fails in a round.
    loss: float = 0.0
    #: Share of the entries that a worker sends in a round: the entries with the largest change
    #: since they were last sent (top-k with error feedback, CHOCO-Gossip; Koloskova et al. 2019).
    kept: float = 1.0
    #: Standard deviation of the noise in each entry that the last worker sends (attack ``noise``).
    lie: float = 0.0


def disturbed_rounds(
    X0: torch.Tensor,
    matrix_at: Callable[[int], torch.Tensor],
    round_of: Round,
    disturbance: Disturbance,
    rounds: int,
    seed: int,
) -> torch.Tensor:
    """The index V ``[rounds + 1]``, from the state ``X0`` ``[n, d]`` and after each round.

    A worker that lies does not count in V.

    ``matrix_at(t)`` is the mixing matrix of round t. Disturbances are drawn from streams of
    ``seed``, so that they are the same for all couplings.
    """
    n, d = X0.shape
    drift = torch.randn(n, d, generator=torch_stream(seed, "drift"), dtype=torch.float64)
    drift = disturbance.drift * (drift - drift.mean(0))
    noise = torch_stream(seed, "noise")
    links = torch_stream(seed, "links")
    honest = n - 1 if disturbance.lie else n
    fields: Any = SimpleNamespace(lie_noise=disturbance.lie)
    liars = Liars(ATTACKS["noise"], fields, seed, honest)

    def among(X: torch.Tensor, W: MixingMatrix, at: torch.Tensor) -> torch.Tensor:
        return round_of(X, W.dense(), at)

    past: list[torch.Tensor]
    X, known, past = X0.clone(), torch.zeros_like(X0), []
    V = [synchronization_index(X[:honest])]
    for t in range(rounds):
        X = X + drift
        if disturbance.noise:
            X += disturbance.noise * torch.randn(n, d, generator=noise, dtype=X.dtype)
        W = matrix_at(t)
        if disturbance.loss:
            W = _without_edges(W, disturbance.loss, links)
        seen = X
        if disturbance.kept < 1:
            seen = known = known + _largest(X - known, round(disturbance.kept * d))
        past = [*past, seen][-disturbance.delay - 1 :]
        if t >= disturbance.delay:  # before that, nothing has arrived
            if disturbance.lie:
                X = liars.step(among, X, MixingMatrix.of(W), t, past[0])
            else:
                X = round_of(X, W, past[0])
        V.append(synchronization_index(X[:honest]))
    return torch.stack(V)


class Chebyshev:
    """Accelerated linear gossip: round t applies the t-th Chebyshev polynomial of I − γL.

    σ is the second largest modulus of its eigenvalues. No other polynomial of degree t with value 1
    at 1 is smaller on [−σ, σ] (Auzinger and Melenk 2017; Scaman et al. 2017).
    """

    def __init__(self, W: torch.Tensor, gamma: float) -> None:
        """``W`` is the mixing matrix from which σ follows."""
        self._gamma = gamma
        moduli = (1 - gamma + gamma * torch.linalg.eigvalsh(W)).abs().sort().values
        self._square = float(moduli[-2]) ** 2
        self._omega = 2.0
        self._before: torch.Tensor | None = None

    def __call__(self, X: torch.Tensor, W: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """x^(t+1) = ω (x + γ Σ_j W_ij (x_j − x_i)) + (1 − ω) x^(t−1), where ω depends on t."""
        step = X + self._gamma * (W @ at - at)
        if self._before is None:
            new = step
        else:
            self._omega = 1 / (1 - self._square * self._omega / 4)
            new = self._omega * step + (1 - self._omega) * self._before
        self._before = X
        return new


def _without_edges(W: torch.Tensor, loss: float, links: torch.Generator) -> torch.Tensor:
    """``W`` without the edges that fail; their weights go to the diagonal, at both ends."""
    fails = torch.rand(len(W), len(W), generator=links) < loss
    fails = fails.triu(1) | fails.triu(1).T
    lost = W * fails
    return W - lost + torch.diag(lost.sum(1))


def _largest(rows: torch.Tensor, k: int) -> torch.Tensor:
    """The ``k`` entries of each row with the largest modulus; 0 elsewhere."""
    places = rows.abs().topk(k, dim=1).indices
    return torch.zeros_like(rows).scatter(1, places, rows.gather(1, places))
