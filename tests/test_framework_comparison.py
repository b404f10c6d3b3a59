"""The comparison with other frameworks: its own side, and what it says."""

import json
import sys

import numpy as np
import pytest
from conftest import REPOSITORY
from running import finished, start

FOLDER = REPOSITORY / "tools/frameworks"
GOSSIPY = REPOSITORY / ".frameworks/gossipy/installed"
SIDE = {"seconds": 2.0, "mb": 100.0}


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import compare

    return compare


def by_worker(problem):
    """DSGD, worker by worker, in float64; on graphs that change too."""
    n, x, found = len(problem.A), problem.X0.astype(float), [problem.X0]
    stack = problem.W.reshape(-1, n, n)
    for t in range(problem.steps):
        W = stack[t % len(stack)]
        half = np.empty_like(x)
        for i, (A, b) in enumerate(zip(problem.A, problem.b, strict=True)):
            outputs = A @ x[i]
            errors = (
                outputs - b if problem.loss == "least_squares" else 1 / (1 + np.exp(-outputs)) - b
            )
            half[i] = x[i] - problem.lr * A.T @ errors / len(b)
        x = np.stack([sum(W[i, j] * half[j] for j in range(n)) for i in range(n)])
        found.append(x)
    return np.stack(found)


def states_of(python, side, problem, options, tmp_path):
    """The states of a side's run, whose answer is told."""
    problem.write(tmp_path / "problem.npz")
    command = [python, FOLDER / side, tmp_path / "problem.npz", tmp_path / "x.npy"]
    answer = json.loads(finished(start([*command, json.dumps(options)], stdout=-1, text=True)))
    assert answer["seconds"] > 0
    assert answer["mb"] > 10
    return np.load(tmp_path / "x.npy")


def test_the_side_of_this_package_is_push_sum_worker_by_worker(tool, tmp_path):
    case = tool.Case("", {}, {}, loss="logistic", topology="one_peer_exponential")
    problem = case.problem()
    X = states_of(sys.executable, "in_ngo.py", problem, {"method": "push_sum"}, tmp_path)
    most, _ = tool.difference(by_worker(problem), X)
    assert most < 1e-6 < tool.ROUNDING


@pytest.mark.skipif(not GOSSIPY.exists(), reason="make frameworks makes gossipy's environment")
def test_gossipy_is_dsgd_worker_by_worker(tool, tmp_path):
    problem = tool.Case("", {}, {}, topology="one_peer_exponential").problem()
    python = GOSSIPY.parent / "bin/python"
    Y = states_of(python, "in_gossipy.py", problem, {"algorithm": "MERGE_UPDATE"}, tmp_path)
    most, _ = tool.difference(by_worker(problem), Y)
    assert most < 1e-6


def test_it_measures_what_is_installed_and_says_what_is_left_out(
    tool, tmp_path, monkeypatch, capsys
):
    (tmp_path / "gossipy").mkdir()
    (tmp_path / "gossipy/installed").touch()
    monkeypatch.setattr(tool, "ENVIRONMENTS", tmp_path)

    def measured(case):
        X = np.ones((11, 1, 1))
        return tool.row(case, X, X[:: case.every] * (1 if case.same else 2), SIDE, SIDE)

    monkeypatch.setattr(tool, "measured", measured)
    tool.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "frameworks: decent_bench is left out: it is not installed."
    rows = [line for line in lines if line.startswith("| gossipy ")]
    assert len(rows) == 2 * sum(case.framework == "gossipy" for case in tool.CASES)
    assert sum("| **no** " in line for line in rows) == 1
