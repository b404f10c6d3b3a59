"""The engine's methods are those of the page of reference."""

import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from cases import cases
from stepping import Stepping, mixing_matrix

from ngo import reference

N, D, STEPS, LR, GAMMA = 6, 4, 40, 0.05, 0.3
RANDOM = np.random.default_rng(0)
A, B = RANDOM.normal(size=(N, 8, D)), RANDOM.normal(size=(N, 8)) + 3 * RANDOM.normal(size=(N, 1))
GRAPHS = {
    "ring": lambda t: reference.ring(N),
    "complete": lambda t: reference.complete(N),
    "random": lambda t: reference.random_graph(N, 0.3, np.random.default_rng(t)),
}


def grad(X):
    return np.einsum("nmd,nm->nd", A, np.einsum("nmd,nd->nm", A, X) - B) / 8


def by_engine(method, edges, **values):
    """The models after the engine's steps, on mixing matrices of the package."""
    stepping = Stepping(method, torch.zeros(N, D).double(), lr=LR, gamma=GAMMA, **values)
    for t in range(STEPS):
        graph = nx.empty_graph(N)
        graph.add_edges_from(edges(t))
        stepping.W = mixing_matrix(graph)
        stepping.advance(torch.tensor(grad(stepping.X.numpy())))
    return stepping.X.numpy()


def on(edges):
    return np.zeros((N, D)), grad, lambda t: reference.mixing_matrix(N, edges(t)), STEPS, LR, GAMMA


@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("p", [1.0, 0.8, 0.5])
@cases(
    "method, values, how",
    ("ngo", {}, {}),
    ("local_sgd", {"local_steps": 3}, {"H": 3}),
    ("delayed", {"delay": 2}, {"delay": 2}),
    ("ngo", {"rule": "momentum", "momentum": 0.9}, {"mu": 0.9}),
)
def test_algorithm_1_is_the_engines(method, values, how, p, edges):
    expected = reference.ngo(*on(edges), p, **how)
    assert np.allclose(by_engine(method, edges, p=p, **values), expected, rtol=0, atol=1e-9)


def test_linear_gossip_and_centralized_learning_are_the_engines():
    ring = GRAPHS["ring"]
    assert np.allclose(by_engine("gossip", ring, p=1), reference.ngo(*on(ring), 1), atol=1e-9)
    found = reference.centralized(np.zeros((N, D)), grad, STEPS, LR)
    assert np.allclose(by_engine("centralized", ring), found, atol=1e-9)
    assert reference.V(found) < 1e-20


@pytest.mark.parametrize("p", [1.0, 0.8])
@pytest.mark.parametrize("method", ["d2", "gradient_tracking"])
def test_corrections_are_the_engines(method, p):
    expected = getattr(reference, method)(*on(GRAPHS["ring"]), p)
    found = by_engine(method, GRAPHS["ring"], p=p, local_steps=1)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


def test_the_page_imports_nothing_of_the_package_and_prints_a_table():
    page = Path(reference.__file__)
    assert "ngo" not in {
        line.split()[1].partition(".")[0]
        for line in page.read_text().splitlines()
        if line.startswith(("import", "from"))
    }
    out = subprocess.run(
        [sys.executable, page], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    found = {line[:15].strip(): float(line.split()[-2]) for line in out.splitlines()[1:]}
    assert found["centralized"] < 1e-20
    assert found["NGO, p = 0.8"] < found["gossip, p = 1"]
