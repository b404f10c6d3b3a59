"""Links that fail and workers that are away, drawn independently in each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ngo.common.lazy import torch
from ngo.common.seeding import torch_stream
from ngo.common.types import Tensor
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix
from ngo.gossip.topology import DRAWN_IN_FULL


class Failures:
    """The failures of a run. They depend only on its seed and its two rates.

    Every pair of workers is one link. It fails with probability ``link_failure``, in both
    directions of a directed graph. A worker is away with probability ``absence``: it sends nothing,
    and keeps its state. No worker is away in the first step, when methods create their matrices.
    """

    def __init__(self, n: int, seed: int, *, link_failure: float, absence: float) -> None:
        self._n = n
        self._link_failure, self._absence = link_failure, absence
        self._links = torch_stream(seed, "links")
        self._absences = torch_stream(seed, "absence")

    def absent(self, t: int) -> list[int]:
        """The workers that are away in step ``t``; call it once for each step, in order."""
        if not self._absence:
            return []
        drawn = torch.rand(self._n, generator=self._absences, dtype=torch.float64)
        return (drawn < self._absence).nonzero().flatten().tolist() if t > 0 else []

    def matrix(self, W: Matrix, absent: Sequence[int]) -> MixingMatrix:
        """The mixing matrix without the step's failed links; call it once in each step.

        The weight W_ij of a failed link is added to W_jj: it stays with its sender. So the sums of
        columns do not change, and a symmetric matrix stays symmetric and doubly stochastic.
        """
        W = MixingMatrix.of(W)
        if not (absent or self._link_failure):
            return W
        i, j = W.receivers, W.senders
        lost = torch.isin(i, torch.tensor(absent)) | torch.isin(j, torch.tensor(absent))
        if self._link_failure:
            lost |= self._drawn(W) < self._link_failure
        return W.without(lost) if lost.any() else W

    def _drawn(self, W: MixingMatrix) -> Tensor:
        """A uniform random number for the link of each edge, ``[edges]``.

        For up to ``DRAWN_IN_FULL`` workers, a number is drawn for each pair of them, so that a link
        fails in the same steps in every graph. For more, for each link of the step's graph.
        """
        if self._n > DRAWN_IN_FULL:
            places, draws = W.links
        else:
            low, high = torch.minimum(W.receivers, W.senders), torch.maximum(W.receivers, W.senders)
            places, draws = low * self._n + high, self._n**2
        return torch.rand(draws, generator=self._links, dtype=torch.float64)[places]

    def state_dict(self) -> dict[str, Tensor]:
        """The state of the two streams."""
        return {"links": self._links.get_state(), "absence": self._absences.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore from ``state``."""
        self._links.set_state(state["links"])
        self._absences.set_state(state["absence"])


@contextmanager
def unchanged(rows: Sequence[int], *matrices: Tensor) -> Iterator[Callable[[Tensor], None]]:
    """Restore the ``rows`` of ``matrices`` at the end of the block.

    Yields a function that adds one more matrix to these.
    """
    kept: list[tuple[Tensor, Tensor]] = []

    def keep(matrix: Tensor) -> None:
        if rows:
            kept.append((matrix, matrix[rows]))

    for matrix in matrices:
        keep(matrix)
    try:
        yield keep
    finally:
        for matrix, before in kept:
            matrix[rows] = before
