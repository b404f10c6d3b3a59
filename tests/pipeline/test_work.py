from collections import Counter

import pytest
from configs import config_of, plan_of_tier
from hypothesis import given
from hypothesis import strategies as st
from recorded_runs import write
from runs import digits_run, run_in, tiny

from ngo.pipeline.work import (
    evaluation_count,
    models,
    recorded,
    requested_memory,
    runs_by_setting,
    work,
)
from ngo.training.evaluation import evaluation_steps

TRAIN, TEST = 1438, 359  # images of digits


def test_the_work_of_a_run_is_that_of_its_loop():
    """With 4 workers: 5 models at all evaluations but the first, all test images at the last."""
    spec = digits_run(eval_images=100)
    owned = spec.owned
    each = work(spec, TEST)
    assert each.steps == spec.steps(owned) == 22
    assert each.samples == 22 * 4 * 16
    assert each.evaluations == len(evaluation_steps(spec, owned)) == 3
    assert each.images == 100 + 5 * 100 + 5 * TEST


def test_many_workers_are_evaluated_by_a_sample():
    spec = digits_run(workers=70, batch_size=2)
    assert models(spec) == 65
    assert models(digits_run(workers=70, batch_size=2, eval_workers=3)) == 4
    assert models(digits_run(workers=5)) == 6
    assert models(digits_run(workers=5, method="centralized")) == 1
    assert models(digits_run(workers=5, method="diloco", local_steps=4)) == 6


def test_a_run_requests_the_memory_of_its_data_set_or_else_of_all():
    resources = {"mem_mb": 500, "mem_mb_of": {"mnist": 900}}
    assert requested_memory(resources, "mnist") == 900
    assert (
        requested_memory(resources, "digits") == requested_memory({"mem_mb": 500}, "mnist") == 500
    )


def test_centralized_training_has_one_model_to_evaluate():
    spec = digits_run(method="centralized", topology=None)
    assert work(spec, TEST).images == 3 * TEST


def test_held_out_samples_are_evaluated_by_the_mean_model_each_time():
    without, with_them = (work(digits_run(holdout=share), TEST) for share in (0.0, 0.1))
    held = round(0.1 * digits_run().owned)
    assert with_them.images - without.images == 3 * held


def test_a_part_of_a_data_set_is_less_work():
    assert work(digits_run(), TEST, 700).steps == round(700 / 64)


def test_a_part_larger_than_the_test_set_is_all_of_it():
    assert work(digits_run(eval_images=9_999), TEST) == work(digits_run(), TEST)


@given(st.floats(0.01, 5), st.floats(0.001, 7), st.integers(1, 9))
def test_evaluations_are_counted_as_the_loop_makes_them(epochs, eval_every, workers):
    spec = digits_run(
        epochs=epochs, eval_every=eval_every, workers=workers, method="centralized", topology=None
    )
    assert evaluation_count(spec, 1437) == len(evaluation_steps(spec, 1437))


@pytest.mark.parametrize("tier", ["demo", "laptop"])
def test_each_run_is_listed_once_with_its_first_experiment(tier):
    plan, rows = plan_of_tier(tier), list(runs_by_setting(config_of(tier)))
    listed = Counter(spec.id for _, _, runs in rows for spec in runs)
    assert set(listed) == set(plan.runs)
    assert set(listed.values()) == {1}
    first, second = list(plan.training)[:2]
    of = {name: {s.id for n, _, runs in rows if n == name for s in runs} for name in plan.training}
    ids = {name: {spec.id for spec in runs} for name, runs in plan.training.items()}
    assert of[first] == ids[first]
    assert of[second] == ids[second] - ids[first]


def test_an_experiments_settings_keep_their_own_seeds():
    config = config_of("demo")
    config["training"]["fig6"]["seeds"] = {"digits_iid": [5]}
    seeds = {
        setting: {spec.seed for spec in runs}
        for name, setting, runs in runs_by_setting(config)
        if name == "fig6"
    }
    assert seeds == {"digits_noniid": {0, 1}, "digits_iid": {5}}


def test_the_record_of_a_real_run_is_read(tmp_path):
    spec = tiny()
    run_in(spec, tmp_path / "runs" / spec.id)
    found = recorded(spec.id, tmp_path)
    assert 0 < found.evaluating < found.seconds
    assert found.steps == spec.steps(spec.owned)
    assert len(found.code) == 16
    assert found.test_samples > 0


@pytest.mark.parametrize("text", ["{", "{}", '{"evaluation_seconds": []}'])
def test_a_damaged_record_is_none(tmp_path, text):
    folder = write(tmp_path, spec := tiny(), seconds=2, evaluating=1, steps=3)
    assert recorded(spec.id, tmp_path).seconds == 2
    (folder / "run.json").write_text(text)
    assert recorded(spec.id, tmp_path) is None
    assert recorded("another", tmp_path) is None


def test_a_record_without_metrics_is_none(tmp_path):
    folder = write(tmp_path, spec := tiny(), seconds=2, evaluating=1, steps=3)
    (folder / "metrics.parquet").unlink()
    assert recorded(spec.id, tmp_path) is None
