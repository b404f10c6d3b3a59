import pytest
from measured_runs import ended, table

from ngo.gossip.spectrum import effective_neighbours, spectral_gap
from ngo.gossip.topology import TOPOLOGIES
from verdicts.rows.run_values import per_run

N = 8


def run(topology, **values):
    return ended(topology=topology, workers=N, **values)


def test_a_graph_has_its_gap_and_its_effective_neighbours():
    rows = table(*(run(name, seed=seed) for name in ("ring", "complete") for seed in (0, 1)))
    gaps = per_run(rows, "spectral_gap").set_index("topology")["value"]
    assert gaps["complete"].tolist() == pytest.approx([1, 1])
    assert gaps["ring"].tolist() == [spectral_gap(TOPOLOGIES["ring"].matrix(N))] * 2
    found = per_run(rows, {"effective_neighbours": 0.9}).set_index("topology")["value"]
    ring = effective_neighbours([TOPOLOGIES["ring"].matrix(N)], 0.9)
    assert found["ring"].tolist() == [ring] * 2
    assert found["complete"].tolist() == pytest.approx([N, N])


def test_graphs_that_change_have_a_number_of_all_of_them():
    rows = table(run("one_peer_hypercube"), run("random", u=0.5))
    found = per_run(rows, {"effective_neighbours": 0.0})["value"]
    assert found.tolist() == [pytest.approx(2), pytest.approx(3.4, abs=0.5)]


def test_runs_without_one_topology_have_no_number():
    phases = {"schedule": "phases", "second_topology": "complete"}
    rows = table(run(None, method="centralized"), run("ring", **phases))
    assert per_run(rows, "spectral_gap")["value"].isna().all()
