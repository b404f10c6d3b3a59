import pytest
from click.testing import CliRunner

from ngo.bench import engine, overheads
from ngo.bench.costs import Bench
from ngo.bench.turns import Turns
from ngo.cli.cli import main


def fake_turns(ways, repeats, name, *, device="cpu", least=0.3):
    """Steps of 10 ms, of which 1 ms is measured; the baselines take 100 ms."""
    slow = (engine.ONE_MODEL, engine.IN_TURN, engine.IN_TURN_1)
    return Turns({way: [(0.1, 0.0) if way in slow else (0.01, 0.001)] * repeats for way in ways})


def test_a_case_is_compared_with_one_model_and_with_workers_in_turn(monkeypatch):
    monkeypatch.setattr(engine, "turns", fake_turns)
    (found,) = engine.engine([("mnist_cnn", 10, 32)], repeats=2)
    ways = {row["way"]: row for row in found.rows}
    assert {"one model", "in turn", "in turn, 1 thread"} < set(ways)
    assert {"loop, ring", "vmap, ring", "threads, ring", "threads, complete"} < set(ways)
    assert ways["threads, ring"]["of_one_model"] == pytest.approx(0.1)
    assert ways["threads, ring"]["consensus_share"] == pytest.approx(0.1)
    assert ways["one model"]["us_per_sample"] == pytest.approx(0.1 / 320 * 1e6)
    verdicts = {target.name.partition(": ")[2]: target.met for target in found.targets}
    assert verdicts == {
        "step of one model's": True,
        "faster than workers in turn (all threads)": True,
        "faster than workers in turn (1 thread)": True,
        "consensus on a ring, share": False,
        "consensus on a complete graph, share": True,
    }


def test_cases_without_a_limit_have_no_targets(monkeypatch):
    monkeypatch.setattr(engine, "turns", fake_turns)
    small, resnet = engine.engine([("mnist_cnn", 4, 32), ("resnet18", 4, 8)], repeats=1)
    assert not small.targets
    assert "vmap, ring" not in {row["way"] for row in resnet.rows}  # it takes a minute a step


def test_growth_compares_the_cost_of_a_sample(monkeypatch):
    monkeypatch.setattr(engine, "turns", fake_turns)
    found = engine.growth(repeats=1, sizes=(4, 8))
    assert [row["of_most_workers"] for row in found.rows] == [2, 1]  # equal times for all n
    assert found.targets[0].value == 2
    assert not found.targets[0].met


def test_only_cases_with_a_limit_are_measured_by_default(monkeypatch):
    measured = []
    monkeypatch.setattr(engine, "engine", lambda cases, *_: measured.append(list(cases)) or [])
    for module, name in ((engine, "growth"), (overheads, "run_overhead")):
        monkeypatch.setattr(module, name, lambda *_: Bench([], []))
    for wish in ([], ["--all"], ["--workers", "4"], ["--model", "resnet18"], ["--workers", "5"]):
        assert CliRunner().invoke(main, ["bench", "engine", *wish]).exit_code == 0
    default, everything, four, resnet, five = measured
    assert default == list(engine.LIMITS)
    assert set(default) < set(everything)
    assert everything == list(engine.CASES)
    assert four == [("mnist_cnn", 4, 32), ("resnet18", 4, 8)]
    assert resnet == [("resnet18", 4, 8)]
    assert five == [("mnist_cnn", 5, 32)]
