"""The graphs of epidemic learning (de Vos et al. 2023), drawn in each step."""

from __future__ import annotations

from ngo.common.fields import at_least, whole
from ngo.common.lazy import nx, torch
from ngo.common.registry import UserError
from ngo.gossip.topologies.static import DEGREE
from ngo.gossip.topology import Edges, topology

RECEIVERS = {"receivers": whole("workers to which each worker sends, s", 4, at_least(1))}


def check_receivers(n: int, receivers: int) -> None:
    """A UserError unless a worker has so many others to send to."""
    if receivers >= n:
        raise UserError(f"receivers: {receivers} is not possible for {n} workers; at most {n - 1}.")


def check_regular(n: int, degree: int) -> None:
    """A UserError unless n workers have a regular graph of this degree."""
    if degree >= n or n * degree % 2:
        raise UserError(
            f"degree: {degree} is not possible for {n} workers; it must be below {n}, and even for "
            "an odd number of them."
        )


@topology(
    "epidemic_out",
    directed=True,
    options=RECEIVERS,
    check=check_receivers,
    density=lambda n, receivers: receivers / (n - 1),
)
def epidemic_out(n: int, receivers: int, generator: torch.Generator) -> torch.Tensor:
    """In each step each worker sends to s random others (EL-Local; de Vos et al. 2023).

    All sets of s = ``receivers`` others are equally likely, and independent.
    """
    # By Floyd's algorithm for all workers at once: the k-th draw is one of the first so many, and
    # the last of them if the draw is already taken.
    found = torch.full((n, receivers), n)
    for k, last in enumerate(range(n - 1 - receivers, n - 1)):
        drawn = torch.randint(last + 1, (n, 1), generator=generator)
        taken = (found == drawn).any(1)
        found[:, k] = torch.where(taken, last, drawn[:, 0])
    workers = torch.arange(n)[:, None]
    found += found >= workers  # others are numbered without the worker itself
    return torch.stack([workers.expand_as(found).flatten(), found.flatten()], 1)


@topology(
    "epidemic_regular",
    options=DEGREE,
    check=check_regular,
    matching=lambda n, degree: degree == 1,
    density=lambda n, degree: degree / (n - 1),
)
def epidemic_regular(n: int, degree: int, generator: torch.Generator) -> Edges:
    """A random regular graph in each step (EL-Oracle; de Vos et al. 2023).

    It need not connect all workers. With a ``degree`` of 1 it is a random matching.
    """
    seed = int(torch.randint(2**31, (), generator=generator))
    return list(nx.random_regular_graph(degree, n, seed).edges)
