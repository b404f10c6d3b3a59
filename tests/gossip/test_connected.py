"""A topology that does not connect the workers is found before a run."""

import pytest
import torch

from ngo.common.registry import UserError
from ngo.gossip.topology import check_connected, topology
from ngo.training.validation import resolve

# Edges on four workers, and the first worker that worker 0 does not reach.
EDGES = {
    "a pair of four": ([(0, 1)], 2),
    "self-loops": ([(0, 0), (1, 1), (2, 2), (3, 3)], 1),
    "no edge": ([], 1),
    "two pairs": ([(0, 1), (2, 3)], 2),
    "an isolated worker": ([(0, 1), (1, 2), (0, 2)], 3),
}


@pytest.fixture(autouse=True)
def removed(own_entries):
    """The topologies of a test are removed when it ends."""


@pytest.mark.parametrize(("edges", "missing"), EDGES.values(), ids=EDGES)
def test_a_graph_in_pieces_is_refused_before_the_run(edges, missing):
    topology("pieces")(lambda n: edges)
    with pytest.raises(UserError) as error:
        resolve({"topology": "pieces", "workers": 4})
    assert str(error.value) == (
        "topology: 'pieces' does not connect the 4 workers: there are no paths both ways "
        f"between worker 0 and worker {missing}; declare it with connected=False if that is meant."
    )


def test_it_depends_on_the_number_of_workers_and_on_fields(caplog):
    topology("wide")(lambda n, peers: [(i, (i + peers) % n) for i in range(n)])
    check_connected("wide", 9, {"peers": 2})
    with pytest.raises(UserError, match="no paths both ways between worker 0 and worker 1;"):
        check_connected("wide", 8, {"peers": 2})
    with pytest.raises(UserError, match="no paths both ways between worker 0 and worker 1;"):
        check_connected("wide", 9, {"peers": 3})


def test_a_path_is_needed_in_both_directions():
    topology("out", directed=True)(lambda n: [(0, i) for i in range(1, n)])
    topology("in", directed=True)(lambda n: [(i, 0) for i in range(1, n)])
    topology("round", directed=True)(lambda n: [(i, (i + 1) % n) for i in range(n)])
    with pytest.raises(UserError, match="no paths both ways between worker 0 and worker 1;"):
        check_connected("out", 4, {})
    with pytest.raises(UserError, match="no paths both ways between worker 0 and worker 1;"):
        check_connected("in", 4, {})
    check_connected("round", 4, {})


def test_a_matrix_is_looked_at_as_edges_are():
    topology("pairs", weighted=True)(lambda n: torch.block_diag(*[torch.full((2, 2), 0.5)] * 2))
    with pytest.raises(UserError, match="no paths both ways between worker 0 and worker 2;"):
        check_connected("pairs", 4, {})


def test_graphs_of_a_period_connect_together():
    def pairs(n, t):
        return [(0, 1), (2, 3)] if t % 2 else [(1, 2)]

    topology("in_turn", period=2)(pairs)
    check_connected("in_turn", 4, {})
    topology("repeating", period=2)(lambda n, t: pairs(n, 1))
    with pytest.raises(UserError, match="between worker 0 and worker 2 in its 2 graphs; declare"):
        check_connected("repeating", 4, {})


def test_what_is_meant_is_a_warning_once(caplog):
    topology("islands", connected=False)(lambda n: [(0, 1), (2, 3)])
    topology("whole", connected=False)(lambda n: [(0, 1), (1, 2), (2, 3)])
    for _ in range(3):
        assert resolve({"topology": "islands", "workers": 4}).topology == "islands"
        assert resolve({"topology": "whole", "workers": 4}).topology == "whole"
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "topology: 'islands' does not connect the 4 workers: there are no paths both ways "
        "between worker 0 and worker 2, so that they may never agree"
    )


def test_graphs_that_are_drawn_connect_in_time(caplog):
    def drawn(name, chance):
        @topology(name)
        def edges(n, generator):
            pairs = [(i, j) for i in range(n) for j in range(i)]
            return [pair for pair in pairs if torch.rand((), generator=generator) < chance]

        check_connected(name, 4, {})

    drawn("rare", 0.05)
    assert caplog.messages == []
    drawn("never", 0.0)
    assert [message[:57] for message in caplog.messages] == [
        "topology: 'never' does not connect the 4 workers: there a"
    ]
    assert "between worker 0 and worker 1 in its first 1000 graphs" in caplog.text
