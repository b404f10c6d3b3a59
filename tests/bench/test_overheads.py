import pytest

from ngo.bench import overheads
from ngo.bench.turns import Turns


def test_the_overhead_is_the_rest_of_a_run(monkeypatch):
    """A run of 10 s and 9.5 s of its work alone."""

    def turns(ways, repeats, name, *, least):
        return Turns({"run": [(19.5, 9.5)] * repeats})

    monkeypatch.setattr(overheads, "turns", turns)
    found = overheads.run_overhead(2)
    assert [row["seconds"] for row in found.rows] == pytest.approx([10, 9.5])
    (target,) = found.targets
    assert target.value == pytest.approx(0.05)
    assert target.met


def test_a_run_and_its_work_alone_take_as_many_steps(monkeypatch):
    taken = []
    monkeypatch.setattr(overheads, "TRAIN", 24)
    monkeypatch.setattr(overheads, "TEST", 5)
    monkeypatch.setattr(
        overheads, "training_step", lambda *_, **__: lambda: taken.append("step") or 0.0
    )
    step = overheads.run_then_work(model="mnist_fc", n=2, b=4, device="cpu")
    assert step() > 0
    assert len(taken) == 3  # of an epoch
