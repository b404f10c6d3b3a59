"""What every registered topology promises, at several numbers of workers."""

from functools import cache
from types import SimpleNamespace

import networkx as nx
import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.topology import TOPOLOGIES, Mixing
from verdicts.registry import UserError

SIZES = [*range(2, 9), 12, 16]
FIELDS = SimpleNamespace(
    u=0.5, peers=1, degree=2, near=2, rewired=0.3, shifts=3, seed=0, receivers=2, clique_size=4,
    joins="every_pair",
)  # fmt: skip
DRAWS = 20

# Those of a file have tests of their own.
NAMES = sorted(name for name, entry in TOPOLOGIES.items() if "graph" not in entry.fields)


def facts(name, n):
    """The period, and whether it is of matchings."""
    entry = TOPOLOGIES[name]
    values = {key: getattr(FIELDS, key) for key in entry.fields}
    return tuple(getattr(entry, fact)(n, **values) for fact in ("period", "matching"))


@cache
def courses(name):
    """For each possible n: n, its facts, and the matrices of two periods, or of ``DRAWS`` steps."""
    actual, entry = [], TOPOLOGIES[name]
    for n in SIZES:
        try:
            entry.check_values(n, **{key: getattr(FIELDS, key) for key in entry.fields})
            mixing = Mixing(name, n, FIELDS, torch_stream(0, "graphs"))
        except UserError:
            continue
        declared = facts(name, n)
        actual.append(
            (n, declared, [mixing.at(t).dense() for t in range(2 * (declared[0] or DRAWS))])
        )
    return actual


@pytest.mark.parametrize("name", NAMES)
def test_matrices_are_doubly_stochastic_and_connect_all_in_time(name):
    for n, _, matrices in courses(name):
        for W in matrices:
            assert W.dtype == torch.float64
            assert (W >= 0).all()
            assert (W.sum(0) - 1).abs().max() < 1e-12
            if name != "epidemic_out":  # in which a worker receives from any number of others
                assert (W.sum(1) - 1).abs().max() < 1e-12
            assert TOPOLOGIES[name].directed or torch.allclose(W, W.T, rtol=0, atol=1e-15)
        union = nx.from_numpy_array(sum(matrices).numpy(), create_using=nx.DiGraph)
        assert not TOPOLOGIES[name].connected or nx.is_strongly_connected(union), n


@pytest.mark.parametrize("name", NAMES)
def test_one_worker_keeps_what_it_has(name):
    entry = TOPOLOGIES[name]
    values = {key: getattr(FIELDS, key) for key in entry.fields}
    try:
        entry.check_values(1, **values)
    except UserError:  # no such graph
        return
    W = entry.matrix(1, t=3, generator=torch_stream(0, "graphs"), **values).dense()
    assert W.dtype == torch.float64
    assert W.tolist() == [[1.0]]
    assert entry.edges(1, t=3, generator=torch_stream(0, "graphs"), **values) == []
    assert facts(name, 1)[0] in (1, None)
    assert torch.equal(Mixing(name, 1, FIELDS, torch_stream(0, "graphs")).at(3).dense(), W)


@pytest.mark.parametrize("name", NAMES)
def test_matrices_repeat_after_the_period_and_not_before(name):
    """Computed in each step, without the memory of ``Mixing``."""
    entry = TOPOLOGIES[name]
    for n, (period, _), matrices in courses(name):
        if period is None:
            complete = (matrices[0] != 0).all()
            assert not all(torch.equal(W, matrices[0]) for W in matrices) or n == 2 or complete
            continue
        values = {key: getattr(FIELDS, key) for key in entry.fields}
        again = [entry.matrix(n, t=t, **values).dense() for t in range(2 * period)]
        assert all(torch.equal(a, b) for a, b in zip(again, matrices, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(again, again[period:], strict=False))
        if n > 3:
            shifted = [again[k:] + again[:k] for k in range(1, period)]
            assert not any(all(map(torch.equal, again, other)) for other in shifted)


@pytest.mark.parametrize("name", NAMES)
def test_workers_have_one_neighbour_at_most_where_it_is_declared_and_nowhere_else(name):
    for n, (_, matching), matrices in courses(name):
        neighbours = [((W + W.T).fill_diagonal_(0) != 0).sum(1).max() for W in matrices]
        assert (max(neighbours) <= 1) == matching, n
