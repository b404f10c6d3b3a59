from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from runs import digits_run, tiny

from ngo.bench import kinds as kinds_module
from ngo.bench import run_costs as module
from ngo.bench.kinds import kind_of
from ngo.bench.run_costs import Cost, Costs, run_costs
from ngo.common.registry import UserError


def test_a_measurement_in_two_processes(tmp_path):
    """Every cost is there, and above 0; an image costs less than a training step's sample."""
    specs = [digits_run(), digits_run(seed=1), digits_run(method="centralized", topology=None)]
    specs = [*specs, digits_run(local_steps=2), digits_run(clock="asynchronous"), tiny()]
    costs = run_costs(specs, tmp_path, jobs=2)
    assert set(costs.kinds) == {kind_of(spec) for spec in specs}
    for cost in costs.kinds.values():
        assert min(cost.sample, cost.image, cost.slowdown) > 0
        assert cost.setup >= 0
        assert cost.memory > 300_000_000
    first = costs.kinds[kind_of(specs[0])]
    assert first.image < first.sample
    assert costs.sizes["digits"] == (1437, 360)
    assert costs.slowdown >= 1
    assert costs.start > module._start(warm=True) > 0


def test_a_kind_that_is_not_tried_costs_what_the_likest_does_but_has_its_own_memory(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "_trial", lambda spec, tests, **how: Cost(spec.batch_size, 1, 1))
    monkeypatch.setattr(module, "_start", lambda warm: 0.0)
    monkeypatch.setattr(
        module, "ProcessPoolExecutor", lambda jobs, mp_context: ThreadPoolExecutor(jobs)
    )
    monkeypatch.setattr(module, "more_trials", partial(kinds_module.more_trials, most=1))
    small, large = digits_run(batch_size=16), digits_run(batch_size=64)
    costs = run_costs([small, small, large], tmp_path)
    assert costs.tried == (kind_of(small),)  # it has the most samples
    assert costs.kinds[kind_of(large)].sample == 16
    assert costs.kinds[kind_of(large)].memory > costs.kinds[kind_of(small)].memory
    assert costs.errors == []


def test_errors_are_those_of_tried_kinds_forecast_from_each_other():
    kinds = [kind_of(digits_run(batch_size=b)) for b in (8, 16, 128)]
    made = dict(zip(kinds, (Cost(sample, 1, 1) for sample in (4.0, 2.0, 1.0)), strict=True))
    costs = Costs(made, {}, 0.0, tuple(kinds))
    assert costs.errors == [0.5, 1.0, 1.0]  # 8 from 16, 16 from 8, 128 from 16
    assert Costs(made, {}, 0.0, tuple(kinds[:2])).errors == [0.5, 1.0]


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
