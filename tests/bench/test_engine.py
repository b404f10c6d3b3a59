import pytest
from click.testing import CliRunner

from ngo.bench import engine, overheads
from ngo.bench.costs import Bench
from ngo.bench.turns import Turns
from ngo.cli.cli import main


def fake_turns(ways, repeats, name, *, device="cpu", least=0.3):
    """Steps of 10 ms, of which 1 ms is measured; the baselines take 100 ms, the products 4 or 8."""
    slow = dict.fromkeys((engine.ONE_MODEL, engine.IN_TURN, engine.IN_TURN_1), (0.1, 0.0))
    known = {**slow, engine.PRODUCT: (0.004, 0.0), engine.PRODUCT_1: (0.008, 0.0)}
    return Turns({way: [known.get(way, (0.01, 0.001))] * repeats for way in ways})


def test_a_case_is_compared_with_one_model_and_with_workers_in_turn(monkeypatch):
    monkeypatch.setattr(engine, "turns", fake_turns)
    (found,) = engine.engine([("mnist_cnn", 10, 32)], repeats=2)
    ways = {row["way"]: row for row in found.rows}
    assert {"one model", "in turn", "in turn, 1 thread"} < set(ways)
    assert {"loop, ring", "vmap, ring", "threads, ring", "auto, ring", "auto, complete"} < set(ways)
    assert ways["auto, ring"]["of_one_model"] == pytest.approx(0.1)
    assert ways["auto, ring"]["consensus_share"] == pytest.approx(0.1)
    assert ways["auto, ring"]["of_the_rate"] == pytest.approx(0.4)
    assert ways["loop, ring"]["of_the_rate"] == pytest.approx(0.8)  # of the rate of one thread
    assert ways["one model"]["us_per_sample"] == pytest.approx(0.1 / 320 * 1e6)
    verdicts = {target.name.partition(": ")[2]: target.met for target in found.targets}
    assert verdicts == {
        "step of one model's": True,
        "faster than workers in turn (all threads)": True,
        "faster than workers in turn (1 thread)": True,
        "share of the rate of matrix products": False,
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


def test_a_small_batch_has_a_limit_for_its_step_alone(monkeypatch):
    monkeypatch.setattr(engine, "turns", fake_turns)
    (found,) = engine.engine([("mnist_cnn", 10, 8)], repeats=1)
    assert [target.limit for target in found.targets] == [0.35, 2.5, 2.5]


def test_the_fixed_cost_of_a_workers_step_is_that_of_no_samples(monkeypatch):
    def linear(ways, repeats, name):
        return Turns({b: [(10 * (7e-4 + 2e-5 * int(b)), 0.0)] * repeats for b in ways})

    monkeypatch.setattr(engine, "turns", linear)
    found = engine.worker_steps(repeats=3, n=10)
    assert found.rows[-1]["fixed_ms"] == pytest.approx(0.7)
    assert found.rows[-1]["us_of_a_sample"] == pytest.approx(20)
    assert [row["ms"] for row in found.rows[:-1]] == pytest.approx([0.86, 1.34, 3.26])
    assert not found.targets[0].met


def test_only_cases_with_a_limit_are_measured_by_default(monkeypatch):
    measured = []
    monkeypatch.setattr(engine, "engine", lambda cases, *_: measured.append(list(cases)) or [])
    for module, name in ((engine, "growth"), (engine, "worker_steps"), (overheads, "run_overhead")):
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
