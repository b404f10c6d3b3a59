import pytest
from click.testing import CliRunner

from ngo.bench import virtual_time
from ngo.bench.turns import Turns
from ngo.cli.cli import main


def fake_turns(ways, repeats, name, **how):
    return Turns({way: [(1.0 if way == "steps" else 1.2, 0.0)] * repeats for way in ways})


def test_the_clocks_are_compared_with_a_run_without_time(monkeypatch):
    monkeypatch.setattr(virtual_time, "turns", fake_turns)
    done = CliRunner().invoke(main, ["bench", "virtual", "--repeats", "2"])
    assert done.exit_code == 0
    assert "met    100 parameters, n = 1000: asynchronous: 1.2 (≤ 1.3)" in done.output
    first, second = virtual_time.virtual(repeats=1)
    assert [row["of_steps"] for row in first.rows] == pytest.approx([1, 1.2, 1.2, 1.2, 1.2])
    assert first.rows[0]["us_per_step"] == pytest.approx(125)
    assert not second.targets


@pytest.mark.parametrize("way", virtual_time.CLOCKS)
def test_each_way_takes_steps(way):
    model, *_ = virtual_time.CASES["100 parameters"]
    step = virtual_time.steps(model, 5, 2, **virtual_time.CLOCKS[way])
    assert step() == 0.0
    step()
