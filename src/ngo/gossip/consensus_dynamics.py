"""Consensus dynamics with no learning, in rounds and in continuous time; the index V."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice, repeat
from types import SimpleNamespace
from typing import Any

from ngo.common.devices import sent
from ngo.common.lazy import Tensor, np, torch
from ngo.common.registries import ATTACKS
from ngo.common.seeding import torch_stream
from ngo.gossip.attack import Byzantine
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix

# The relative error of a step in continuous time. Consensus times are accurate to about 1e-5.
ACCURACY = 1e-6
# A sublinear coupling is smoothed for differences below this share of r = √V.
SMOOTHED_SHARE = 1e-4


@dataclass(frozen=True)
class Trajectory:
    """A trajectory in rounds."""

    #: ``[rounds + 1, n, d]``, the initial state first.
    states: Tensor
    #: ``[rounds + 1]``
    V: Tensor


@dataclass(frozen=True)
class Flow:
    """A trajectory in continuous time."""

    #: ``[k]``
    times: Tensor
    #: ``[k]``
    V: Tensor
    #: The time at which V reached its threshold; infinity if it did not.
    consensus_time: float


def weighed_mean(X: Tensor, shares: Tensor) -> Tensor:
    """Σᵢ wᵢ xᵢ ``[d]`` in the type of ``X`` ``[n, d]``, summed in float64; w are the ``shares``."""
    return (sent(shares, X.device) @ X.double()).to(X.dtype)


def synchronization_index(X: Tensor, shares: Tensor | None = None) -> Tensor:
    """V = Σᵢ‖xᵢ − x̄‖² in float64, for a state ``[n, d]`` or a stack of states ``[…, n, d]``.

    Of a state of workers that count w, the ``shares``, it is Σᵢ n wᵢ‖xᵢ − Σⱼ wⱼ xⱼ‖².
    Source: the definition of the synchronization index in Section 2 of the paper.
    """
    X = X.double()
    if shares is not None:
        w = sent(shares, X.device)
        return len(X) * (w @ (X - w @ X).square_().sum(1))
    return (X - X.mean(-2, keepdim=True)).square_().sum((-2, -1))


def simulate(
    X0: Tensor, W: Matrix | Iterable[Matrix], p: float, gamma: float, rounds: int, delay: int = 0
) -> Trajectory:
    """Run gossip rounds from ``X0`` ``[n, d]``, with one ``W`` or an iterable of one per round.

    A round is a step of length ``gamma`` of the coupled system of Theorem 3.1. An iterable with
    fewer matrices than rounds is an error. With a ``delay`` of τ rounds, all differences are those
    of the state τ rounds earlier (the paper's delay equation). Before the first round the state is
    ``X0``.
    """
    matrices = repeat(MixingMatrix.of(W)) if isinstance(W, torch.Tensor | MixingMatrix) else W
    states = [X0]
    for t, matrix in enumerate(islice(matrices, rounds)):
        states.append(gossip_step(states[-1], matrix, gamma, p, at=states[max(0, t - delay)]))
    if len(states) != rounds + 1:
        raise ValueError(f"the mixing matrices ended after {len(states) - 1} of {rounds} rounds")
    stacked = torch.stack(states)
    return Trajectory(stacked, synchronization_index(stacked))


def integrate(
    X0: Tensor, W: Tensor, p: float, *, t_end: float, tol: float, samples: int = 2
) -> Flow:
    """Solve dx_i/dt = Σ_j W_ij φ_p(x_j − x_i) (Theorem 3.1 at γ = 1) from ``X0`` ``[n, d]``.

    Workers of ``X0`` differ.

    The solution ends at consensus, V ≤ ``tol`` · V(0), or at ``t_end``. The flow has ``samples``
    states, including the first and the last; V falls by about the same factor between them.

    The solver integrates the direction y = (x − x̄)/r and log r, where r² = V, in the scaled time
    ds = r^(2p−2) dt. In this time r decays exponentially for every p, so that consensus in finite
    time is not a singularity. For p < 1 the coupling is infinitely steep at 0, since workers that
    have met stay together. It is therefore smoothed to z(z² + ε²)^(p−1), with
    ε = ``SMOOTHED_SHARE`` · r.
    """
    from scipy.integrate import solve_ivp
    from scipy.linalg import block_diag

    n, d = X0.shape
    X = X0.double().numpy()
    start = (X - X0.double().mean(0).numpy()).T.ravel()  # coordinates are independent
    r0 = np.linalg.norm(start)
    square = SMOOTHED_SHARE**2 if p < 1 else 0.0
    i, j = np.nonzero(np.triu(W.numpy(), 1))
    weights = W.double().numpy()[i, j]
    edges = np.arange(len(i))
    incidence = np.zeros((n, len(i)))  # maps a row x to the differences x_j − x_i
    incidence[i, edges], incidence[j, edges] = -1, 1

    def pull(y: np.ndarray) -> np.ndarray:
        z = y.reshape(d, n) @ incidence
        return -((weights * z * (z**2 + square) ** (p - 1)) @ incidence.T).ravel()

    def pull_jacobian(y: np.ndarray) -> np.ndarray:
        z2 = (y.reshape(d, n) @ incidence) ** 2
        steepness = weights * (z2 + square) ** (p - 1)
        if p < 1:
            steepness *= 1 + 2 * (p - 1) * z2 / (z2 + square)
        else:
            steepness *= 2 * p - 1
        return block_diag(*(-(incidence * row) @ incidence.T for row in steepness))

    # The solver's state consists of y, log(r / r(0)) and t.
    def velocity(s: float, state: np.ndarray) -> np.ndarray:
        y, log_r = state[:-2], state[-2]
        F = pull(y)
        rate = y @ F / (y @ y)
        return np.concatenate([F - rate * y, [rate, (r0 * np.exp(log_r)) ** (2 - 2 * p)]])

    def jacobian(s: float, state: np.ndarray) -> np.ndarray:
        y, log_r = state[:-2], state[-2]
        F, J = pull(y), pull_jacobian(y)
        rate = y @ F / (y @ y)
        of_rate = (F + J @ y - 2 * rate * y) / (y @ y)
        whole = np.zeros((len(state), len(state)))
        whole[:-2, :-2] = J - rate * np.eye(len(y)) - np.outer(y, of_rate)
        whole[-2, :-2] = of_rate
        whole[-1, -2] = (2 - 2 * p) * (r0 * np.exp(log_r)) ** (2 - 2 * p)
        return whole

    def to_consensus(s: float, state: np.ndarray) -> float:
        return state[-2] - np.log(tol) / 2

    def to_end(s: float, state: np.ndarray) -> float:
        return state[-1] - t_end

    to_consensus.terminal = to_end.terminal = True  # type: ignore[attr-defined]  # for scipy
    start, events = np.concatenate([start / r0, [0, 0]]), (to_consensus, to_end)
    error = {"rtol": ACCURACY, "atol": ACCURACY * SMOOTHED_SHARE}
    how = {"method": "LSODA", "events": events, "jac": jacobian, "dense_output": True}
    solution = solve_ivp(velocity, (0, np.inf), start, **how, **error)
    if not solution.success:
        raise RuntimeError(f"the solver failed at t = {solution.y[-1, -1]:g}: {solution.message}")
    path = solution.sol(np.linspace(0, solution.t[-1], samples))
    times, V = map(torch.from_numpy, (path[-1].copy(), (r0 * np.exp(path[-2])) ** 2))
    reached = solution.t_events[0].size > 0
    return Flow(times, V, float(times[-1]) if reached else np.inf)


#: ``(X, W, at)`` → the state ``[n, d]`` after a round; the differences are those of ``at``.
Round = Callable[[Tensor, Tensor, Tensor], Tensor]


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
    X0: Tensor, matrices: Iterable[Tensor], round_of: Round, disturbance: Disturbance, seed: int
) -> Tensor:
    """The index V ``[rounds + 1]``, from the state ``X0`` ``[n, d]`` and after each round.

    A Byzantine worker does not count in V.

    There is a round for each of the mixing ``matrices``. Disturbances are drawn from streams of
    ``seed``, so that they are the same for all couplings.
    """
    n, d = X0.shape
    drift = torch.randn(n, d, generator=torch_stream(seed, "drift"), dtype=torch.float64)
    drift = disturbance.drift * (drift - drift.mean(0))
    noise = torch_stream(seed, "noise")
    links = torch_stream(seed, "links")
    honest = n - 1 if disturbance.lie else n
    fields: Any = SimpleNamespace(lie_noise=disturbance.lie)
    byzantine = Byzantine(ATTACKS["noise"], fields, seed, honest)

    def among(X: Tensor, W: MixingMatrix, at: Tensor, out: Tensor) -> Tensor:
        return round_of(X, W.dense(), at)

    past: list[Tensor]
    X, known, past = X0.clone(), torch.zeros_like(X0), []
    V = [synchronization_index(X[:honest])]
    for t, W in enumerate(matrices):
        X = X + drift
        if disturbance.noise:
            X += disturbance.noise * torch.randn(n, d, generator=noise, dtype=X.dtype)
        if disturbance.loss:
            W = _without_edges(W, disturbance.loss, links)
        seen = X
        if disturbance.kept < 1:
            seen = known = known + _largest(X - known, round(disturbance.kept * d))
        past = [*past, seen][-disturbance.delay - 1 :]
        if t >= disturbance.delay:  # before that, nothing has arrived
            if disturbance.lie:
                X = byzantine.step(among, X, MixingMatrix.of(W), t, past[0])
            else:
                X = round_of(X, W, past[0])
        V.append(synchronization_index(X[:honest]))
    return torch.stack(V)


class Chebyshev:
    """Accelerated linear gossip: round t applies the t-th Chebyshev polynomial of I − γL.

    σ is the second largest modulus of its eigenvalues. No other polynomial of degree t with value 1
    at 1 is smaller on [−σ, σ] (Auzinger and Melenk 2017; Scaman et al. 2017).
    """

    def __init__(self, W: Tensor, gamma: float) -> None:
        """``W`` is the mixing matrix from which σ follows."""
        self._gamma = gamma
        moduli = (1 - gamma + gamma * torch.linalg.eigvalsh(W)).abs().sort().values
        self._square = float(moduli[-2]) ** 2
        self._omega = 2.0
        self._before: Tensor | None = None

    def __call__(self, X: Tensor, W: Tensor, at: Tensor) -> Tensor:
        """x^(t+1) = ω (x + γ Σ_j W_ij (x_j − x_i)) + (1 − ω) x^(t−1), where ω depends on t."""
        step = X + self._gamma * (W @ at - at)
        if self._before is not None:
            self._omega = 1 / (1 - self._square * self._omega / 4)
            step = self._omega * step + (1 - self._omega) * self._before
        self._before = X
        return step


def _without_edges(W: Tensor, loss: float, links: torch.Generator) -> Tensor:
    """``W`` without the edges that fail; their weights go to the diagonal, at both ends."""
    fails = torch.rand(len(W), len(W), generator=links) < loss
    fails = fails.triu(1) | fails.triu(1).T
    lost = W * fails
    return W - lost + torch.diag(lost.sum(1))


def _largest(rows: Tensor, k: int) -> Tensor:
    """The ``k`` entries of each row with the largest modulus; 0 elsewhere."""
    places = rows.abs().topk(k, dim=1).indices
    return torch.zeros_like(rows).scatter(1, places, rows.gather(1, places))
