"""The comparison with other frameworks: its problems, its own side, its judgement, its locks."""

import json
import sys

import numpy as np
import pytest
from conftest import REPOSITORY
from running import finished, start

FOLDER = REPOSITORY / "tools/frameworks"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import compare

    return compare


@pytest.fixture
def cases(tool):
    import cases

    return cases


def by_worker(problem):
    """DSGD, worker by worker, in float64."""
    n, x, found = len(problem.A), problem.X0.astype(float), [problem.X0]
    for _ in range(problem.steps):
        half = np.empty_like(x)
        for i, (A, b) in enumerate(zip(problem.A, problem.b, strict=True)):
            outputs = A @ x[i]
            errors = (
                outputs - b if problem.loss == "least_squares" else 1 / (1 + np.exp(-outputs)) - b
            )
            half[i] = x[i] - problem.lr * A.T @ errors / len(b)
        x = np.stack([sum(problem.W[i, j] * half[j] for j in range(n)) for i in range(n)])
        found.append(x)
    return np.stack(found)


@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
def test_the_side_of_this_package_is_dsgd_worker_by_worker(tool, cases, tmp_path, loss):
    problem = cases.Case(cases.DB, {}, {}, loss=loss).problem()
    problem.write(tmp_path / "problem.npz")
    command = [sys.executable, FOLDER / "in_ngo.py", tmp_path / "problem.npz", tmp_path / "x.npy"]
    process = start(
        [*command, json.dumps({"method": "dsgd"})], stdin=-1, stdout=-1, stderr=-1, text=True
    )
    process.stdin.write("\n")
    process.stdin.close()
    process.stdin = None
    answer = json.loads(finished(process))
    assert answer["seconds"] > 0
    assert answer["mb"] > 50
    most, _ = tool.difference(by_worker(problem), np.load(tmp_path / "x.npy"))
    assert most < 1e-6 < tool.ROUNDING


def test_a_difference_is_relative_and_may_leave_out_the_first_steps(tool):
    X = np.arange(12.0).reshape(6, 2, 1)
    late = np.concatenate([X[:1], X])[:6]
    assert tool.difference(X, late, shift=1) == (0, 0)
    assert tool.difference(X, late) == pytest.approx((2 / 11, 2 / 11))


@pytest.mark.parametrize("topology", ["ring", "directed_ring"])
def test_both_sides_get_the_weights_of_a_run(cases, topology):
    W = cases.weights(topology, 5)
    assert W.sum(0) == pytest.approx(1)
    assert W.sum(1) == pytest.approx(1)
    assert W[1, 0] == pytest.approx(1 / 3 if topology == "ring" else 1 / 2)
    assert (W[0, 1] > 0) == (topology == "ring")


def test_without_environments_it_says_so_and_writes_nothing(
    tool, cases, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(tool, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(tool, "PAGE", tmp_path / "page.md")
    tool.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[1] for line in lines] == [str(tmp_path / each) for each in (cases.DB,)]
    assert not (tmp_path / "page.md").exists()


def test_locks_and_page_have_the_pinned_versions_with_hashes(tool, cases):
    pinned = tool.pinned()
    assert sorted(pinned) == ["decent-bench"]
    page = (REPOSITORY / "docs/frameworks.md").read_text(encoding="utf-8")
    for (name, version), framework in zip(pinned.items(), (cases.DB,), strict=True):
        lock = (FOLDER / f"{framework}.lock").read_text()
        assert f"{name}=={version} \\\n    --hash=sha256:" in lock
        assert f"{name} {version}" in page


def test_the_page_has_every_case_with_a_reason_where_sides_disagree(cases):
    page = (REPOSITORY / "docs/frameworks.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| decent-bench ")]
    assert len(rows) == 2 * len(cases.CASES)
    for case, line in zip(cases.CASES, rows, strict=False):
        assert ("| **no** " in line) != case.same
        assert case.same or case.why in line
