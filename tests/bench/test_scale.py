import pytest
import torch
from click.testing import CliRunner

from ngo.bench import scale
from ngo.bench.costs import Bench
from ngo.bench.turns import Turns
from ngo.cli.cli import main


def fake_turns(ways, repeats, name, **how):
    """Steps of 1 ms a worker, of which a fiftieth is consensus; the implicit coupling takes 3 s."""
    sizes = {way: (int(way) if way.isdigit() else 1000) / 1000 for way in ways}
    sizes |= {way: 3.0 for way in ways if way.startswith("implicit")}
    return Turns({way: [(size, size / 50)] * repeats for way, size in sizes.items()})


@pytest.fixture
def made_up(monkeypatch):
    monkeypatch.setattr(scale, "turns", fake_turns)


def test_four_methods_are_measured_for_each_number_of_workers(made_up):
    few, most = scale.scale(repeats=1, sizes=(4, 10_000))
    assert {row["n"] for row in few.rows} == {4}
    assert [row["way"] for row in few.rows] == list(scale.METHODS)
    assert not few.targets
    assert few.rows[0]["consensus_ms"] == pytest.approx(20)
    on = {target.name.split(": ")[1].split(", share")[0] for target in most.targets}
    assert on == {"ngo, ring", "ngo, torus", "dsgd, ring", "dsgd, torus"}
    assert all(target.met and target.limit == 0.05 for target in most.targets)


def test_a_workers_step_with_many_is_compared_with_that_of_fewer(made_up):
    found = scale.convolutions(repeats=1)
    (target,) = found.targets
    assert target.value == pytest.approx(1)  # in proportion
    assert "n = 1000, of one with n = 100" in target.name


def test_couplings_are_compared_on_their_own_graphs(made_up):
    verdicts = {t.name.split(": ")[1].split(",")[0]: t.met for t in scale.couplings(1).targets}
    assert verdicts == {"capped": True, "implicit": False}


def test_steps_pulls_and_set_ups_are_the_packages_own():
    threads = torch.get_num_threads()
    try:
        for prepare in (
            lambda: scale.pull("capped", "ring", 5, 7),
            lambda: scale.pull("implicit", "alternating_matching", 4, 7),
            lambda: scale.prepared(20),
            *(
                lambda fields=fields: scale.training_step(
                    "auto", **fields, model=scale.SMALL, n=16, b=2, device="cpu"
                )
                for fields in {**scale.METHODS, **scale.ON_TORUS}.values()
            ),
        ):
            assert prepare()() >= 0
    finally:
        torch.set_num_threads(threads)


def test_the_small_network_has_100_parameters():
    assert sum(map(torch.numel, scale.small(torch.Generator()).parameters())) == 100


def test_the_next_matrices_of_all_graphs_that_vary_have_a_limit():
    found = scale.graphs(n=16, repeats=1)
    rows = {row["topology"]: row for row in found.rows}
    assert rows["ring"]["edges"] == 32
    assert "graph_file" not in rows
    limited = {target.name.split(",")[0] for target in found.targets}
    assert {"random", "one_peer_exponential", "base_graph"} <= limited
    assert "ring" not in limited


def test_the_command_prints_all_parts(monkeypatch):
    for name in ("convolutions", "couplings", "set_up", "graphs"):
        monkeypatch.setattr(scale, name, lambda *_, name=name: Bench([{"part": name}], []))
    monkeypatch.setattr(scale, "scale", lambda *_: iter([Bench([{"part": "steps"}], [])]))
    found = CliRunner().invoke(main, ["bench", "scale"])
    assert all(part in found.output for part in ("steps", "convolutions", "set_up", "graphs"))
