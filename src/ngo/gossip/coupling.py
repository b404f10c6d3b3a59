"""Couplings: the pull along an edge, as a function of the difference between its ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ngo.common.fields import Options, registers
from ngo.common.lazy import Tensor, torch
from ngo.common.registry import Registry
from ngo.gossip.gossip_step import step_along_edges
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.step import Run
from ngo.native.pool import Map, in_order

Pull = Callable[["Tensor", "Tensor", float, "Run"], "Tensor"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Coupling:
    """An entry of the registry."""

    #: ``(z, weights, gamma, run)`` → pulls ``[edges, d]``, added at one end of each edge and
    #: subtracted at the other, for differences z ``[edges, d]`` and weights W_ij ``[edges, 1]``.
    #: None if there are no such pulls; then ``fast`` is the step.
    pull: Pull | None
    #: The fields of a run that the coupling reads.
    fields: tuple[str, ...]
    #: A form of ``step`` that is faster, or that needs whole rows; W is a ``MixingMatrix``, and
    #: ``at`` and ``out`` are given. It returns ``out``, or None where it does not apply.
    fast: Callable[..., Tensor | None] | None = None
    #: Whether it needs a matching: in each step, a worker has at most one neighbour.
    matching: bool = False
    #: ``fast`` by differences, where ``fast`` may take weighted sums of rows.
    exact: Callable[..., Tensor | None] | None = None

    def by_differences(self) -> Coupling:
        """The same coupling, with pulls that are opposite at the ends of an edge, bit for bit."""
        return replace(self, fast=self.exact) if self.exact else self

    def step(
        self,
        X: Tensor,
        W: Tensor | MixingMatrix,
        gamma: float,
        run: Run,
        *,
        at: Tensor | None = None,
        out: Tensor | None = None,
        spread: Map = in_order,
    ) -> Tensor:
        """One gossip step ``[n, d]`` with this coupling (see ``gossip_step.gossip_step``)."""
        W = MixingMatrix.of(W)
        at = X if at is None else at
        out = torch.empty_like(X) if out is None else out
        if self.fast is not None:
            taken = self.fast(X, W, gamma, run, at=at, out=out, spread=spread)
            if taken is not None:
                return taken

        def pull(z: Tensor, weights: Tensor) -> Tensor:
            return self.pull(z, weights, gamma, run)  # type: ignore[misc]  # fast has no None

        return step_along_edges(X, W, pull, at=at, out=out, spread=spread)


COUPLINGS: Registry[Coupling] = Registry("coupling")


def coupling(
    name: str,
    *,
    fields: tuple[str, ...] = (),
    options: Options | None = None,
    fast: Callable[..., Tensor | None] | None = None,
    matching: bool = False,
    whole: bool = False,
    exact: Callable[..., Tensor | None] | None = None,
    version: int = 1,
) -> Callable[[F], F]:
    """Register an elementwise pull under the name that configs and commands use.

    It must be odd in z: then the pulls at the two ends of an edge are opposite, and the mean of all
    workers is conserved. ``fields`` are the fields of a run that it reads; ``options`` are new
    fields, which it adds. ``fast`` is a faster form of the whole step. With ``matching=True``,
    which an implicit step needs, graphs other than matchings are refused. With ``whole=True`` the
    function is the whole step, as ``Coupling.fast`` is, which moves each worker by all that it
    receives; it need not conserve the mean.
    ``exact`` is ``fast`` by differences of rows, for a ``fast`` that takes weighted sums of them.
    ``version`` is raised when its results change.
    """

    def entry(function: Any, own: tuple[str, ...]) -> Coupling:
        pull, step = (None, function) if whole else (function, fast)
        return Coupling(pull, (*fields, *own), step, matching, exact)

    return registers(COUPLINGS, name, entry, options, version)
