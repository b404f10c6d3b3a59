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
    """The states of a side's run, and its answer to one line."""
    problem.write(tmp_path / "problem.npz")
    command = [python, FOLDER / side, tmp_path / "problem.npz", tmp_path / "x.npy"]
    process = start([*command, json.dumps(options)], stdin=-1, stdout=-1, stderr=-1, text=True)
    process.stdin.write("\n")
    process.stdin.close()
    process.stdin = None
    answer = json.loads(finished(process))
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
    problem = cases.Case(cases.DB, {}, {}, loss=loss, topology=topology).problem()
    X = states_of(sys.executable, "in_ngo.py", problem, {"method": method}, tmp_path)
    most, _ = tool.difference(by_worker(problem), X)
    assert most < 1e-6 < tool.ROUNDING


@pytest.mark.skipif(not GOSSIPY.exists(), reason="make frameworks makes gossipy's environment")
def test_gossipy_is_dsgd_worker_by_worker(tool, cases, tmp_path):
    problem = cases.Case(cases.GOSSIPY, {}, {}, topology="one_peer_exponential").problem()
    python = GOSSIPY.parent / "bin/python"
    Y = states_of(python, "in_gossipy.py", problem, cases.MERGE_UPDATE, tmp_path)
    most, _ = tool.difference(by_worker(problem), Y)
    assert most < 1e-6


def test_what_a_framework_prints_is_not_among_the_answers(cases, tmp_path):
    (tmp_path / "noisy.py").write_text(
        f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import side\n"
        "side.serve(lambda problem, method: (lambda: print('states') or problem.X0[None],"
        " lambda: print('a run')))\n"
    )
    problem = cases.Case(cases.GOSSIPY, {}, {}).problem()
    X = states_of(sys.executable, tmp_path / "noisy.py", problem, {"method": ""}, tmp_path)
    assert (X == problem.X0).all()


def test_a_node_with_one_peer_has_the_one_of_its_weights(tool, cases):
    from side import one_peer

    W = cases.weights("directed_ring", 4)
    assert one_peer(W, pull=False).tolist() == [[1, 2, 3, 0]]
    assert one_peer(W, pull=True).tolist() == [[3, 0, 1, 2]]
    pairs = one_peer(cases.weights("one_peer_hypercube", 4), pull=False)
    assert pairs.tolist() == [[1, 0, 3, 2], [2, 3, 0, 1]]
    with pytest.raises(ValueError, match="several peers"):
        one_peer(cases.weights("ring", 4), pull=False)


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
    assert capsys.readouterr().out.splitlines() == [
        "frameworks: decent-bench 0.3.0 is left out: there was no Python 3.13 to run it.",
        "frameworks: gossipy-dfl 0.0.1 is left out: there was no Python 3.11 to run it.",
    ]
    assert not (tmp_path / "page.md").exists()


def test_the_page_has_what_could_be_run_and_says_why_the_others_are_left_out(
    tool, cases, tmp_path, monkeypatch
):
    (tmp_path / "gossipy").mkdir()
    (tmp_path / "gossipy/installed").touch()
    (tmp_path / "decent_bench/bin").mkdir(parents=True)
    (tmp_path / "decent_bench/bin/python").touch()
    monkeypatch.setattr(tool, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(tool, "PAGE", tmp_path / "page.md")

    def measured(case):
        X = np.ones((11, 1, 1))
        side = tool.Side(None, None, [2.0], 100.0)
        return tool.row(case, X, X[:: case.every] * (1 if case.same else 2), side, side)

    monkeypatch.setattr(tool, "measured", measured)
    tool.main()
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    left_out = "decent-bench 0.3.0 is left out: its packages could not be installed."
    assert left_out in page.splitlines()
    assert "Versions: gossipy-dfl 0.0.1." in page
    rows = [line for line in page.splitlines() if line.startswith("| gossipy-dfl ")]
    assert len(rows) == 2 * sum(case.framework == cases.GOSSIPY for case in cases.CASES)
    assert "| decent-bench " not in page


def test_one_step_there_may_be_several_here(tool, cases):
    (case,) = (case for case in cases.CASES if case.every > 1)
    X = np.arange(11.0).reshape(11, 1, 1)
    side = tool.Side(None, None, [2.0], 100.0)
    assert tool.row(case, X, X[::5], side, side)["largest difference"] == "0.0e+00"


def test_locks_and_page_have_the_pinned_versions_with_hashes(tool, cases):
    page = (REPOSITORY / "docs/frameworks.md").read_text(encoding="utf-8")
    pins = {cases.DB: ("decent-bench", "0.3.0"), cases.GOSSIPY: ("gossipy-dfl", "0.0.1")}
    assert sorted(pins) == sorted(file.stem for file in FOLDER.glob("*.in"))
    for framework, (name, version) in pins.items():
        assert tool.pinned(framework) == (name, version)
        lock = (FOLDER / f"{framework}.lock").read_text()
        assert f"{name}=={version} \\\n    --hash=sha256:" in lock
        assert "://" not in lock
        assert f"{name} {version}" in page


def test_both_sides_have_the_same_pytorch():
    locks = REPOSITORY / "requirements.lock", FOLDER / "gossipy.lock"
    pins = [re.findall(r"^(?:torch|numpy)==\S+", file.read_text(), re.MULTILINE) for file in locks]
    assert len(pins[0]) == 2
    assert pins[0] == pins[1]


def test_the_page_has_every_case_with_a_reason_where_sides_disagree(tool, cases):
    page = (REPOSITORY / "docs/frameworks.md").read_text(encoding="utf-8")
    lines = page.splitlines()
    for framework in (cases.DB, cases.GOSSIPY):
        own = [case for case in cases.CASES if case.framework == framework]
        rows = [line for line in lines if line.startswith(f"| {tool.pinned(framework)[0]} ")]
        assert len(rows) == 2 * len(own)
        for case, line in zip(own, rows, strict=False):
            assert ("| **no** " in line) != case.same
            assert case.same or case.why in line
    for what, why in cases.LEFT_OUT.items():
        assert f"- {what}: {why}." in lines
