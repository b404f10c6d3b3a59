"""The comparison with other frameworks: its problems, its own side, its judgement, its locks."""

import json
import re
import sys

import numpy as np
import pytest
from conftest import REPOSITORY
from running import finished, start

FOLDER = REPOSITORY / "tools/frameworks"
GOSSIPY = REPOSITORY / ".frameworks/gossipy/installed"
SIDE = {"seconds": 2.0, "mb": 100.0}
PACKAGES = {"decent_bench": ("decent-bench", "0.3.0"), "gossipy": ("gossipy-dfl", "0.0.1")}


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


GRAPHS = [
    ("ring", "dsgd"),
    ("directed_ring", "epidemic"),
    ("one_peer_exponential", "push_sum"),
]


@pytest.mark.parametrize(("topology", "method"), GRAPHS)
def test_the_side_of_this_package_is_dsgd_worker_by_worker(tool, cases, tmp_path, topology, method):
    loss = "logistic" if topology == "ring" else "least_squares"
    problem = cases.Case("", {}, {}, loss=loss, topology=topology).problem()
    X = states_of(sys.executable, "in_ngo.py", problem, {"method": method}, tmp_path)
    most, _ = tool.difference(by_worker(problem), X)
    assert most < 1e-6 < tool.ROUNDING


@pytest.mark.skipif(not GOSSIPY.exists(), reason="make frameworks makes gossipy's environment")
def test_gossipy_is_dsgd_worker_by_worker(tool, cases, tmp_path):
    problem = cases.Case("", {}, {}, topology="one_peer_exponential").problem()
    python = GOSSIPY.parent / "bin/python"
    Y = states_of(python, "in_gossipy.py", problem, {"algorithm": "MERGE_UPDATE"}, tmp_path)
    most, _ = tool.difference(by_worker(problem), Y)
    assert most < 1e-6


def test_what_a_framework_prints_is_not_among_the_answers(cases, tmp_path):
    (tmp_path / "noisy.py").write_text(
        f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import side\n"
        "side.answer(lambda problem, method: (lambda: print('states') or problem.X0[None],"
        " lambda: print('a run')))\n"
    )
    problem = cases.Case("", {}, {}).problem()
    X = states_of(sys.executable, tmp_path / "noisy.py", problem, {"method": ""}, tmp_path)
    assert (X == problem.X0).all()


def test_a_node_with_one_peer_has_the_one_of_its_weights(tool, cases):
    from side import one_peer

    assert one_peer(cases.weights("directed_ring", 4)).tolist() == [[1, 2, 3, 0]]
    pairs = one_peer(cases.weights("one_peer_hypercube", 4))
    assert pairs.tolist() == [[1, 0, 3, 2], [2, 3, 0, 1]]
    with pytest.raises(ValueError, match="several peers"):
        one_peer(cases.weights("ring", 4))


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


def test_it_measures_what_is_installed_and_says_what_is_left_out(
    tool, cases, tmp_path, monkeypatch, capsys
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
    assert len(rows) == 2 * sum(case.framework == "gossipy" for case in cases.CASES)
    assert sum("| **no** " in line for line in rows) == 1


def test_one_step_there_may_be_several_here(tool, cases):
    (case,) = (case for case in cases.CASES if case.every > 1)
    X = np.arange(11.0).reshape(11, 1, 1)
    assert tool.row(case, X, X[::5], SIDE, SIDE)["largest difference"] == "0.0e+00"


def test_locks_and_page_have_the_pinned_versions_with_hashes(cases):
    page = (REPOSITORY / "docs/frameworks.md").read_text(encoding="utf-8")
    assert {case.framework for case in cases.CASES} == set(PACKAGES)
    assert sorted(PACKAGES) == sorted(file.stem for file in FOLDER.glob("*.in"))
    for framework, (name, version) in PACKAGES.items():
        assert f"\n{name}=={version}\n" in (FOLDER / f"{framework}.in").read_text()
        lock = (FOLDER / f"{framework}.lock").read_text()
        assert f"{name}=={version} \\\n    --hash=sha256:" in lock
        assert "://" not in lock
        assert f"{name} {version}" in page


def test_both_sides_have_the_same_pytorch():
    locks = REPOSITORY / "requirements.lock", FOLDER / "gossipy.lock"
    pins = [re.findall(r"^(?:torch|numpy)==\S+", file.read_text(), re.MULTILINE) for file in locks]
    assert len(pins[0]) == 2
    assert pins[0] == pins[1]


def test_the_page_has_every_case_with_a_reason_where_sides_disagree(cases):
    lines = (REPOSITORY / "docs/frameworks.md").read_text(encoding="utf-8").splitlines()
    for framework in PACKAGES:
        own = [case for case in cases.CASES if case.framework == framework]
        rows = [line for line in lines if line.startswith(f"| {framework} ")]
        assert len(rows) == 2 * len(own)
        for case, line in zip(own, rows, strict=False):
            assert ("| **no** " in line) != case.same
            assert case.same or case.why in line
