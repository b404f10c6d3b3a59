from dataclasses import replace

import pytest
from runs import digits_run, tiny

from ngo.bench import run_costs as module
from ngo.bench.run_costs import image_key, run_costs, step_key
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
    assert image_key(replace(spec, workers=8, batch_size=8)) == image_key(spec)
    assert image_key(replace(spec, model="mnist_fc")) != image_key(spec)


def test_a_measurement_in_two_processes(tmp_path):
    """Every cost is there, and above 0; an image costs less than a training step's sample."""
    specs = [digits_run(), digits_run(seed=1), digits_run(method="centralized", topology=None)]
    specs = [*specs, tiny()]
    costs = run_costs(specs, tmp_path, jobs=2, seconds=0.3)
    assert set(costs.samples) == {step_key(spec) for spec in specs}
    assert set(costs.images) == {image_key(spec) for spec in specs}
    assert {image_key(spec) for spec in specs} < set(costs.around)
    for of in (costs.samples, costs.images, costs.around):
        assert min(of.values()) > 0
    assert costs.images[image_key(specs[0])] < costs.samples[step_key(specs[0])]
    assert costs.sizes["digits"] == (1437, 360)
    assert costs.cold > costs.warm > 0
    assert costs.slowdown >= 1


def test_a_large_model_is_measured_with_fewer_workers(tmp_path, monkeypatch, digits):
    built = []
    from ngo.training import stepper

    class Spy(stepper.Stepper):
        def __init__(self, spec, *arguments, **named):
            built.append(spec.workers)
            super().__init__(spec, *arguments, **named)

    monkeypatch.setattr(stepper, "Stepper", Spy)
    for most in (10**9, 70_000, 1):
        monkeypatch.setattr(module, "MOST_NUMBERS", most)
        per_sample, _ = module._step(
            digits_run(workers=10), digits, 1, module.time.process_time, 0.0, "cpu", evaluate=False
        )
        assert per_sample > 0
    assert built == [10, 3, 2]


def test_a_process_that_is_killed_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "kill.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="time: a measuring process ended early"):
        run_costs([digits_run()], tmp_path, plugins=["kill.py"])


def test_a_mistake_in_a_process_is_its_line(tmp_path):
    with pytest.raises(UserError, match="absent.py"):
        run_costs([digits_run()], tmp_path, plugins=["absent.py"])
