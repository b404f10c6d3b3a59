"""The registry of measurements on the theorems, the parts of the table of ``ngo theory``; and the
graphs and states on which they are measured.

The other files of this folder are about theorems, lemmas and statements of the paper. A comment
states each, a ``part`` measures it, and a ``quantity``, which a claim can name, judges the
measurement. The files are imported to read the registries, so torch and pandas are imported inside
the functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

from ngo.common.registry import Registry, UserError, unknown
from ngo.common.seeding import torch_stream
from ngo.common.types import Numbers, Table, Tensor
from ngo.gossip.topology import TOPOLOGIES, Mixing

if TYPE_CHECKING:
    import torch

    from ngo.measures.theory_table import TheoryOptions


Options: TypeAlias = "TheoryOptions"
Rows: TypeAlias = Iterator[tuple]
Measure = Callable[["TheoryOptions"], Iterable[Sequence[object]]]


@dataclass(frozen=True)
class Part:
    """The rows of one kind."""

    #: ``rows(options)`` measures them; the values of a row are in the order of the columns.
    rows: Measure
    columns: tuple[str, ...]

    def table(self, options: TheoryOptions) -> Table:
        """The rows as a table."""
        import pandas as pd

        return pd.DataFrame(list(self.rows(options)), columns=list(self.columns))


PARTS: Registry[Part] = Registry("kind")


def part(kind: str, *columns: str) -> Callable[[Measure], Measure]:
    """Register a function that measures the rows of ``kind``: tuples of these columns' values."""

    def register(rows: Measure) -> Measure:
        PARTS.add(kind, Part(rows, columns), rows)
        return rows

    return register


def rows_of(table: Table, kind: str) -> Table:
    """The rows of ``kind`` with the columns that they have; a UserError if there are none."""
    rows = table[table["kind"] == kind] if "kind" in table else table.iloc[:0]
    if rows.empty:
        raise UserError(f"kind: the theory table has no rows of kind {kind!r}; measure it again.")
    return rows.drop(columns="kind").dropna(axis=1, how="all").reset_index(drop=True)


def checked_form(form: str, forms: Iterable[str]) -> str:
    """``form`` if it is one of ``forms``, in which the paper or a correction states a theorem."""
    if form not in (known := tuple(forms)):
        raise unknown("form", form, known)
    return form


def by_seed(values: Numbers) -> Numbers:
    """``values``, indexed by seed, as floats with seeds as whole numbers."""
    values = values.astype(float)
    values.index = values.index.astype(int)
    return values.rename_axis("seed")


# Draws of a random graph before the search for a connected one is given up.
MAX_DRAWS = 10_000


def graphs(s: Options, workers: Iterable[int] | None = None) -> Iterator[tuple[str, int, Tensor]]:
    """Each (topology, n, mixing matrix) of ``topologies`` and ``workers``, by default those of s.

    A graph that equals an earlier one is left out.
    """
    import torch

    seen = []
    for n in workers or s.workers:
        for name in s.topologies:
            W = graph(name, n, s.u, s.seed)
            if not any(torch.equal(W, other) for other in seen):
                seen.append(W)
                yield name, n, W


def sgd_graph(s: Options, n: int | None = None) -> Tensor:
    """The mixing matrix of ``sgd_topology`` on n workers, by default ``sgd_workers``."""
    return graph(s.sgd_topology, n or s.sgd_workers, s.u, s.seed)


def graph(name: str, n: int, u: float, seed: int) -> Tensor:
    """The mixing matrix of a topology.

    A random graph is the first connected draw from the stream (seed, "theory graphs", n).
    """
    import networkx as nx

    mixing = Mixing(name, n, SimpleNamespace(u=u), torch_stream(seed, "theory graphs", n))
    if not TOPOLOGIES[name].varies:
        return mixing.at(0).dense()
    for t in range(MAX_DRAWS):
        W = mixing.at(t).dense()
        if nx.is_connected(nx.from_numpy_array(W.numpy())):
            return W
    raise UserError(
        f"u: {u!r} gave no connected {name} graph of {n} workers in {MAX_DRAWS} draws; it must be "
        f"larger."
    )


def states(n: int, draws: int, seed: int, stream: str, worker: int | None) -> list[Tensor]:
    """Gaussian states ``[n, 1]`` from the stream (seed, stream, worker)."""
    import torch

    generator = torch_stream(seed, stream, worker)
    return [torch.randn(n, 1, generator=generator, dtype=torch.float64) for _ in range(draws)]


def unit_spread(n: int, generator: torch.Generator) -> Tensor:
    """A Gaussian state ``[n, 1]`` with mean 0 and V = n.

    The floor of a sublinear coupling does not depend on V(0), so that its share of V(0) would be
    large if workers happened to start close together.
    """
    import torch

    X = torch.randn(n, 1, generator=generator, dtype=torch.float64)
    X = X - X.mean()
    return X * (math.sqrt(n) / X.norm())


VANISHED = 1e-6
"""V counts as vanished at or below this share of V(0)."""

FACTOR = 2.0
"""Two values of V are alike if they are within this factor."""


def residual(
    X0: Tensor,
    W: Tensor | Iterable[Tensor],
    p: float,
    gamma: float,
    rounds: int,
    delay: int = 0,
) -> float:
    """The largest V of the last tenth of ``rounds``, as a share of V(0); infinity if it overflows.

    The arguments are those of ``consensus.simulate``.
    """
    from ngo.gossip.consensus import simulate

    V = simulate(X0, W, p, gamma, rounds, delay).V
    share = float(V[-max(1, rounds // 10) :].max() / V[0])
    return math.inf if math.isnan(share) else share
