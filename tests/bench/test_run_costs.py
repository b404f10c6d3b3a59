from dataclasses import replace

import pytest
from runs import digits_run, tiny

from ngo.bench import run_costs as module
from ngo.bench.run_costs import run_costs, step_key
from ngo.common.registry import UserError


def test_runs_that_differ_in_no_cost_are_measured_once():
    spec = digits_run(method="ngo", p=0.9)
    for values in ({"seed": 7}, {"lr": 0.3}, {"epochs": 9.0}, {"p": 0.7}, {"gamma": 0.4}):
        assert step_key(replace(spec, **values)) == step_key(spec)
    for values in (
        *({"batch_size": 8}, {"model": "mnist_fc"}, {"workers": 8}, {"local_rule": "adam"}),
        *({"augmentation": "crop_flip"}, {"topology": "complete"}, {"p": 1.0}),
    ):
        assert step_key(replace(spec, **values)) != step_key(spec)


def test_a_measurement_in_two_processes(tmp_path):
    """Every cost is there, and above 0; an image costs less than a training step's sample."""
    specs = [digits_run(), digits_run(seed=1), digits_run(method="centralized", topology=None)]
    specs = [*specs, digits_run(local_steps=2), tiny()]
    costs = run_costs(specs, tmp_path, jobs=2)
    assert set(costs.kinds) == {step_key(spec) for spec in specs}
    for cost in costs.kinds.values():
        assert min(cost.sample, cost.image, cost.slowdown) > 0
        assert cost.setup >= 0
        assert cost.memory > 300_000_000
    first = costs.kinds[step_key(specs[0])]
    assert first.image < first.sample
    assert costs.sizes["digits"] == (1437, 360)
    assert costs.slowdown >= 1
    assert costs.start > module._start(warm=True) > 0


def test_a_large_model_is_tried_with_fewer_workers(monkeypatch):
    for most, workers in ((10**9, 10), (70_000, 3), (1, 2)):
        monkeypatch.setattr(module, "MOST_NUMBERS", most)
        assert module._short(digits_run(workers=10)).workers == workers


def test_a_trial_has_two_evaluations_and_the_steps_between(digits):
    from ngo.training.loop import train

    short = module._short(digits_run(holdout=0.1, epochs=9.0))
    assert [row.step for row in train(short, digits).rows][:2] == [0, module.STEPS]


def test_a_process_that_is_killed_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "kill.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="time: a trial was killed"):
        run_costs([digits_run()], tmp_path, plugins=["kill.py"])


def test_a_mistake_in_a_process_is_its_line(tmp_path):
    with pytest.raises(UserError, match="absent.py"):
        run_costs([digits_run()], tmp_path, plugins=["absent.py"])
