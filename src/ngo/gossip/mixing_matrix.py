"""Mixing matrices as the weights of edges, rules for these weights, and spectra.

Row i of a mixing matrix weighs what worker i receives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from ngo.common.devices import sent
from ngo.common.lazy import Tensor, np, torch
from ngo.common.registries import METROPOLIS, WEIGHT_RULES
from verdicts.registry import UserError, in_a_line


class MixingMatrix:
    """A mixing matrix W ``[n, n]`` in float64: the entries that are edges, and the diagonal.

    Each entry off the diagonal that is not 0 is a directed edge, with a receiver i, a sender j and
    a weight W_ij. Edges are in order of (i, j): those of receiver i are from ``starts[i]`` to
    ``starts[i + 1]`` (the format CSR). The memory is O(n + edges). All tensors are on the CPU and
    are not changed.

    The matrices of several runs are the ``blocks`` on the diagonal of one (``joined``).
    """

    def __init__(
        self,
        n: int,
        receivers: Tensor,
        senders: Tensor,
        weights: Tensor,
        diagonal: Tensor | None = None,
        *,
        blocks: int = 1,
    ) -> None:
        """The directed edges ``[e]``, each once, and the ``diagonal`` ``[n]``: by default, rows sum
        to 1.

        Edges are put in order. There are none between ``blocks`` of equal sizes.
        """
        keys = receivers * n + senders
        if not (keys[1:] > keys[:-1]).all():
            order = torch.from_numpy(keys.numpy().argsort(kind="stable"))
            receivers, senders, weights = receivers[order], senders[order], weights[order]
        self.receivers, self.senders = receivers, senders
        self.weights = weights.double()
        if diagonal is None:
            diagonal = 1 - torch.bincount(receivers, self.weights, n)
        self.diagonal = diagonal.double().contiguous()
        counts = np.bincount(receivers.numpy() + 1, minlength=n + 1)
        self.starts = torch.from_numpy(counts.cumsum())
        #: The numbers of workers and of directed edges.
        self.n, self.edges = n, len(weights)
        self.blocks = blocks
        self._on_device: dict[tuple[Any, ...], Any] = {}

    @classmethod
    def of(cls, W: Tensor | MixingMatrix) -> MixingMatrix:
        """The matrix of a dense tensor ``[n, n]``; a ``MixingMatrix`` itself."""
        if isinstance(W, MixingMatrix):
            return W
        receivers, senders = (W - torch.diag(W.diagonal())).nonzero().T
        return cls(len(W), receivers, senders, W[receivers, senders], W.diagonal())

    @classmethod
    def joined(cls, *matrices: MixingMatrix) -> MixingMatrix:
        """Matrices of equal sizes on one diagonal: no edge leads from one to another."""
        firsts = torch.arange(len(matrices)) * matrices[0].n
        of = firsts.repeat_interleave(torch.tensor([W.edges for W in matrices]))
        receivers, senders, weights, diagonal = (
            torch.cat([getattr(W, name) for W in matrices])
            for name in ("receivers", "senders", "weights", "diagonal")
        )
        edges = receivers + of, senders + of, weights
        return cls(len(diagonal), *edges, diagonal, blocks=len(matrices))

    @property
    def size(self) -> int:
        """The number of workers in a block."""
        return self.n // self.blocks

    @property
    def crowded(self) -> bool:
        """Whether most pairs of workers are edges, so that a dense matrix is as short."""
        return 2 * self.edges > self.n * self.size

    def dense(self) -> Tensor:
        """The dense matrix ``[n, n]``, of several blocks ``[blocks, size, size]``; float64."""
        W = torch.diag_embed(self.diagonal.view(-1, self.size))
        i, size = self.receivers, self.size
        W[i // size, i % size, self.senders % size] = self.weights
        return W if self.blocks > 1 else W[0]

    @cached_property
    def received(self) -> Tensor:
        """``[n]``: the sum of the weights of what each worker receives from others."""
        return torch.bincount(self.receivers, self.weights, self.n).double()

    @property
    def rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """The directed edges in CSR: ``starts``, ``senders`` and ``weights``."""
        return self.starts, self.senders, self.weights

    @cached_property
    def pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """The edges (i, j) with i < j, and their weights W_ij: of a symmetric W, each edge once."""
        once = self.receivers < self.senders
        return self.receivers[once], self.senders[once], self.weights[once]

    @cached_property
    def links(self) -> tuple[Tensor, int]:
        """The number ``[edges]`` of each edge's pair of workers, and the number of such pairs.

        Pairs (i, j), i < j, are counted in their order. Both directions are the same pair.
        """
        low = torch.minimum(self.receivers, self.senders)
        high = torch.maximum(self.receivers, self.senders)
        pairs, numbers = torch.unique(low * self.n + high, return_inverse=True)
        return numbers, len(pairs)

    @cached_property
    def ends(self) -> Tensor:
        """``[edges]``: where a symmetric matrix's directed edges are in ``pairs``, twice in a row.

        The first of the two are edges to i, the second to j.
        """
        numbers, count = self.links
        return numbers + count * (self.receivers > self.senders)

    def part(self, workers: Sequence[int], rows: int) -> MixingMatrix:
        """The matrix of some ``workers``, in this order, with the edges of the first ``rows``.

        An edge between two workers after the first ``rows`` is left out; the diagonal is W's.
        """
        chosen = torch.tensor(workers)
        place = torch.full((self.n,), -1)
        place[chosen] = torch.arange(len(chosen))
        i, j = place[self.receivers], place[self.senders]
        kept = (i >= 0) & (j >= 0) & ((i < rows) | (j < rows))
        edges = i[kept], j[kept], self.weights[kept]
        return MixingMatrix(len(workers), *edges, self.diagonal[chosen])

    def without(self, lost: Tensor) -> MixingMatrix:
        """W without the ``lost`` edges, a mask ``[edges]``; their weights go to their senders."""
        kept, back = ~lost, torch.bincount(self.senders[lost], self.weights[lost], self.n)
        edges = self.receivers[kept], self.senders[kept], self.weights[kept]
        return MixingMatrix(self.n, *edges, self.diagonal + back)

    def on(self, like: Tensor, name: str) -> Any:
        """``dense`` or an attribute, on the device of ``like`` and of its type; it is sent once."""
        key = name, like.device, like.dtype
        if key not in self._on_device:
            self._on_device[key] = _sent(self._value(name), like)
        return self._on_device[key]

    def _value(self, name: str) -> Any:
        return self.dense() if name == "dense" else getattr(self, name)


def _sent(value: Any, like: Tensor) -> Any:
    if isinstance(value, tuple):
        return tuple(_sent(part, like) for part in value)
    return sent(value.to(like.dtype) if value.is_floating_point() else value, like.device)


#: A mixing matrix, dense ``[n, n]`` or as edges.
Matrix: TypeAlias = "Tensor | MixingMatrix"


# The largest error of the sums and the symmetry of a topology's own matrix.
TOLERANCE = 1e-9


#: (1/(1 + degrees) ``[n]``, i ``[e]``, j ``[e]``) → the weights ``[e]`` of edges (i, j) of an
#: undirected graph: symmetric, and those of each worker sum to 1 at most.
WeightRule = Callable[["np.ndarray", "np.ndarray", "np.ndarray"], "np.ndarray"]


def metropolis(share: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Metropolis–Hastings weights 1/(1 + max(deg i, deg j)) (Xiao, Boyd and Kim 2007)."""
    return np.minimum(share[i], share[j])


def uniform(share: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """The same weight 1/(1 + Δ) on all edges, with Δ the largest degree of the step's graph.

    Constant edge weights (Xiao and Boyd 2004, Section 4.1); with the 1 the diagonal is above 0.
    """
    return np.full(len(i), share.min())


WEIGHT_RULES.add(METROPOLIS, metropolis, metropolis)
WEIGHT_RULES.add("uniform", uniform, uniform)


def mixing_of(n: int, edges: np.ndarray, rule: str = METROPOLIS) -> MixingMatrix:
    """The doubly stochastic matrix of undirected ``edges`` ``[e, 2]``, weighted by a rule.

    The edges are simple (``topology.simple``). W_ii = 1 − Σ_{j≠i} W_ij, so that a worker without an
    edge keeps its own state.
    """
    ends = np.concatenate([edges, edges[:, ::-1]]).T.copy()
    weights = WEIGHT_RULES[rule](1 / (1 + np.bincount(ends[0], minlength=n)), *ends)
    return MixingMatrix(n, *map(torch.from_numpy, (*ends, weights)))


def outgoing_shares(n: int, edges: np.ndarray) -> MixingMatrix:
    """Column-stochastic weights of directed ``edges`` (from, to): W_ij = 1/(1 + out-degree of j).

    The edges ``[e, 2]`` are simple (``topology.simple``). Each worker keeps one share of its mass
    and sends one along each of its edges.
    """
    senders, receivers = torch.from_numpy(edges.T.copy())
    shares = 1 / (1 + torch.bincount(senders, minlength=n).double())
    return MixingMatrix(n, receivers, senders, shares[senders], shares)


def undirected_weights(n: int, i: Tensor, j: Tensor, weights: Tensor | float) -> MixingMatrix:
    """The symmetric matrix of edges (i, j) of these weights, each once; rows sum to 1."""
    weights = torch.as_tensor(weights, dtype=torch.float64).expand(len(i)).repeat(2)
    i, j = torch.cat([i, j]), torch.cat([j, i])
    return MixingMatrix(n, i, j, weights, (1 - torch.bincount(i, weights, n)).clamp(min=0))


@lru_cache(maxsize=16)  # of graphs that return
def by_shares(W: MixingMatrix, shares: Tensor) -> MixingMatrix:
    """The symmetric n diag(w) W', W' the mixing matrix of workers that count w = ``shares`` [n].

    W is symmetric and doubly stochastic, and w sums to 1. Worker i would choose the neighbour j
    with probability W_ij w_j / Σ_k W_ik w_k; the smaller of w_i times this in both directions is
    what w_i W'_ij and w_j W'_ji are, as with Metropolis–Hastings. So the result is symmetric, and
    W' is row-stochastic with wᵀ W' = wᵀ. On a complete graph W' has the rows w.
    """
    i, j, u = W.receivers, W.senders, W.n * shares
    near = torch.bincount(i, W.weights * u[j], W.n) + W.diagonal * u
    weights = W.weights * (u[i] * u[j]) / torch.maximum(near[i], near[j])
    diagonal = (u - torch.bincount(i, weights, W.n)).clamp(min=0)
    return MixingMatrix(W.n, i, j, weights, diagonal)


def checked_matrix(
    name: str, matrix: Any, n: int, *, directed: bool, tolerance: float = TOLERANCE
) -> MixingMatrix:
    """A topology's own matrix; a UserError unless it is a mixing matrix on n workers.

    Entries must be 0 or more, and columns must sum to 1. An undirected topology's matrix must be
    symmetric. It is dense, one of SciPy's sparse arrays, or a ``MixingMatrix``.
    """
    W: Matrix = matrix
    if not isinstance(matrix, MixingMatrix):
        try:
            W = torch.as_tensor(dense_array(matrix), dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError) as error:
            raise _refused(name, f"is not a matrix ({in_a_line(error)})") from None
    shape = [W.n, W.n] if isinstance(W, MixingMatrix) else list(W.shape)
    if shape != [n, n] or n < 1:
        raise _refused(name, f"has shape {shape}, and not {[max(n, 1)] * 2}")
    W = MixingMatrix.of(W)
    if not all((x.isfinite() & (x >= 0)).all() for x in (W.weights, W.diagonal)):
        raise _refused(name, "has entries that are not finite numbers of 0 or more")
    if (torch.bincount(W.senders, W.weights, n) + W.diagonal - 1).abs().max() > tolerance:
        hint = "networkx.from_numpy_array(A) is the graph of an adjacency matrix A"
        raise _refused(name, f"has columns that do not sum to 1; {hint}")
    if not directed and _asymmetry(W) > tolerance:
        raise _refused(name, "is not symmetric; a directed topology is declared with directed=True")
    return W


def dense_array(matrix: Any) -> Any:
    """A sparse array of SciPy's as a dense one; anything else as it is."""
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def _asymmetry(W: MixingMatrix) -> float:
    """The largest |W_ij − W_ji|."""
    signed = torch.where(W.receivers < W.senders, W.weights, -W.weights)
    return float(torch.bincount(W.links[0], signed, 1).abs().max())


def _refused(name: str, reason: str) -> UserError:
    return UserError(f"topology: the mixing matrix of {name!r} {reason}.")


# Spectra of mixing matrices and Laplacians are dense: O(n³) time and O(n²) memory.

#: The entry below which a power of a matrix counts as 0.
SMALLEST = 1e-10


def spectral_gap(W: Matrix) -> float:
    """1 − the second largest modulus of the eigenvalues of a mixing matrix (Table S1).

    For a symmetric matrix with eigenvalues 1 = λ₁ ≥ … ≥ λ_n it is 1 − max(|λ₂|, |λ_n|).
    """
    W = MixingMatrix.of(W)
    values = (torch.linalg.eigvalsh if not _asymmetry(W) else torch.linalg.eigvals)(W.dense())
    return float(1 - values.abs().sort().values[-2])


def effective_neighbours(matrices: Sequence[Matrix], decay: float) -> float:
    """The effective number of neighbours n_W(γ) at the ``decay`` γ in [0, 1).

    All workers walk at random, x ← W(√γ x + ξ) with ξ ~ N(0, I). n_W(γ) is how many times smaller
    their variance is in the limit than that of a worker alone, 1/(1 − γ) (Vogels et al. 2022,
    Section 3). For a symmetric W with the eigenvalues λᵢ, it is 1/(1 − γ) / mean(λᵢ²/(1 − γλᵢ²)):
    n for the complete graph, 1 without edges; on a connected graph it grows with γ, from the number
    of neighbours of a step to n.

    ``matrices`` are those of one period, used in turn; the variance is the mean over the period.
    NaN if they do not conserve the mean both ways (not doubly stochastic), as the walk needs.
    """
    every = [MixingMatrix.of(W) for W in matrices]
    if len(every) == 1 and not _asymmetry(every[0]):
        squares = torch.linalg.eigvalsh(every[0].dense()).square()
        return float(1 / (1 - decay) / (squares / (1 - decay * squares)).mean())
    dense = [W.dense() for W in every]
    if any((W.sum(k) - 1).abs().max() > TOLERANCE for W in dense for k in (0, 1)):
        return float("nan")
    one = torch.eye(every[0].n, dtype=torch.float64)

    def step(S: Tensor, W: Tensor) -> Tensor:
        return W @ (decay * S + one) @ W.T

    # Over one period, S ← A S Aᵀ + C. The limit is the sum of all Aᵏ C Aᵏᵀ, by doubling.
    A, S = one, torch.zeros_like(one)
    for W in dense:
        A, S = decay**0.5 * W @ A, step(S, W)
    while A.abs().max() > SMALLEST:
        A, S = A @ A, S + A @ S @ A.T
    traces = [(S := step(S, W)).trace() for W in dense]
    return float(1 / (1 - decay) / (torch.stack(traces).mean() / every[0].n))


def laplacian(W: Matrix) -> Tensor:
    """L = D − W of a symmetric weight matrix, dense ``[n, n]``; D holds its row sums."""
    W = MixingMatrix.of(W).dense()
    return torch.diag(W.sum(1)) - W


def algebraic_connectivity(W: Matrix) -> float:
    """λ₂ of the Laplacian of ``W``: its second smallest eigenvalue, 0 on a disconnected graph."""
    return laplacian_range(W)[0]


def laplacian_range(W: Matrix) -> tuple[float, float]:
    """λ₂ and λ_n of the Laplacian of a symmetric ``W``: the second smallest, and the largest."""
    values = torch.linalg.eigvalsh(laplacian(W))
    return float(values[1]), float(values[-1])
