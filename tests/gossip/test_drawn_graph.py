import networkx as nx
import pytest

from ngo.common.registry import UserError
from ngo.gossip import drawn_graph
from ngo.gossip.drawn_graph import connected


def test_the_first_connected_draw_counts():
    draws = iter([nx.empty_graph(3), nx.Graph([(0, 1), (2, 3)]), nx.path_graph(3)])
    assert connected("own", 0, lambda source: next(draws)) == [(0, 1), (1, 2)]


def test_the_seed_decides_the_draws():
    def first(seed):
        seen = []
        connected("own", seed, lambda source: seen.append(source.random()) or nx.path_graph(2))
        return seen

    assert first(0) == first(0) != first(1)


def test_a_graph_that_is_never_connected_is_refused(monkeypatch):
    monkeypatch.setattr(drawn_graph, "DRAWS", 7)
    asked = []
    with pytest.raises(UserError, match="topology: none of 7 draws of 'own' is connected"):
        connected("own", 0, lambda source: asked.append(1) or nx.empty_graph(3))
    assert len(asked) == 7
