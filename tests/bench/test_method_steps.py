import pytest

from ngo.bench import method_steps
from ngo.bench.training_step import training_step
from ngo.bench.turns import Turns


def test_the_exchange_is_left_out_of_the_ratio(monkeypatch):
    """Plain steps take 10 s, 2 of them exchange; others take 16 s, 6 of them exchange."""

    def turns(ways, repeats, name, *, device):
        return Turns(
            {way: [(10, 2) if way == method_steps.PLAIN else (16, 6)] * repeats for way in ways}
        )

    monkeypatch.setattr(method_steps, "turns", turns)
    found = method_steps.method_steps(repeats=2)
    assert len(found.targets) == len(method_steps.WAYS) - 1
    assert {round(target.value, 9) for target in found.targets} == {1.25}
    assert all(target.met for target in found.targets)
    assert [row["of_plain"] for row in found.rows[:2]] == pytest.approx([1, 1.6])
    assert [row["of_dsgd"] for row in found.rows[:2]] == pytest.approx([10 / 16, 1])


@pytest.mark.parametrize("way", method_steps.WAYS)
def test_every_way_takes_steps(way):
    fields = {"topology": "ring", **method_steps.WAYS[way]}
    step = training_step("loop", **fields, model="mnist_fc", n=4, b=2, device="cpu")
    assert step() >= 0
