"""The sums of a forecast, with costs that are made up."""

import pytest
from recorded_runs import AROUND, COLD, IMAGE, SAMPLE, WARM, made_up_costs, write
from runs import digits_run

from ngo.bench import forecast as module
from ngo.bench.forecast import JOB, forecast, run_seconds
from ngo.bench.run_costs import Costs
from ngo.pipeline.grid import training_runs
from ngo.pipeline.work import work
from ngo.training.spec import DEFAULTS


def config_of(**values):
    small = {"dataset": "digits", "batch_size": 16, "epochs": 2.0, "workers": 4, "eval_images": 100}
    return {
        "tier": "mine",
        "threads": 1,
        "warm": False,
        "seeds": [0, 1],
        "defaults": {**DEFAULTS, **small},
        "settings": {"a": {}, "b": {"lr": 0.1}},
        "training": {
            "first": {"settings": ["a"], "compare": [{"method": "ngo", "topology": "ring"}]},
            "second": {
                "settings": ["a", "b"],
                "compare": [{"method": ["gossip", "ngo"], "topology": "ring"}],
            },
        },
        **values,
    }


def made(tmp_path, cores=1, **values):
    return forecast(
        config_of(**values), tmp_path, results=tmp_path, cores=cores, measure=made_up_costs
    )


def of_one(spec, start=COLD):
    each = work(spec, 359, 1437)
    return JOB + start + AROUND + SAMPLE * each.samples + IMAGE * each.images


def test_a_run_costs_its_start_its_files_its_samples_and_its_evaluations(tmp_path):
    (spec,) = training_runs("first", config_of(seeds=[0]), config_of()["training"]["first"])
    first = made(tmp_path, seeds=[0]).rows[0]
    assert first.seconds == pytest.approx(of_one(spec))
    assert first.evaluating == pytest.approx(IMAGE * work(spec, 359, 1437).images)
    assert first.samples == work(spec, 359, 1437).samples


def test_a_shared_run_counts_in_its_first_experiment(tmp_path):
    rows = made(tmp_path).rows
    assert [(row.experiment, row.setting, row.runs) for row in rows] == [
        ("first", "a", 2),
        ("second", "a", 2),
        ("second", "b", 4),
    ]


def test_a_finished_run_of_the_same_code_is_not_left(tmp_path):
    config = config_of()
    spec, other = training_runs("first", config, config["training"]["first"])
    write(tmp_path, spec, seconds=8.0, evaluating=2.0, steps=work(spec, 359).steps)
    write(tmp_path, other, seconds=8.0, evaluating=2.0, steps=9, code="another")
    first = made(tmp_path).rows[0]
    assert (first.runs, first.finished, first.took, first.took_share) == (1, 1, 8.0, 0.25)
    training, evaluating = run_seconds(spec, work(spec, 359, 1437), made_up_costs([spec], tmp_path))
    assert first.expected == pytest.approx(training + evaluating)
    text = made(tmp_path).as_text()
    assert "its evaluation" in text
    assert "25%" in text  # of the 8 seconds


def test_of_a_run_that_diverged_only_its_steps_were_expected(tmp_path):
    config = config_of()
    spec, _ = training_runs("first", config, config["training"]["first"])
    half = work(spec, 359).steps // 2
    write(tmp_path, spec, seconds=8.0, evaluating=2.0, steps=half)
    whole = sum(run_seconds(spec, work(spec, 359, 1437), made_up_costs([spec], tmp_path)))
    share = half / work(spec, 359).steps
    assert made(tmp_path).rows[0].expected == pytest.approx(whole * share)


def test_jobs_share_the_time_and_threads_the_cores(tmp_path):
    alone = made(tmp_path)
    assert made(tmp_path, cores=4).hours == pytest.approx(alone.hours / 4)
    assert made(tmp_path, cores=4, threads=2).hours == pytest.approx(alone.hours / 2)
    assert made_up_costs.how["jobs"] == 2
    assert made_up_costs.how["threads"] == 2


def test_a_prefork_server_starts_jobs_faster(tmp_path):
    cold, warm = (made(tmp_path, warm=warm).rows[0] for warm in (False, True))
    assert cold.seconds - warm.seconds == pytest.approx(2 * (COLD - WARM))


def test_a_part_of_a_data_set_costs_its_own_size(tmp_path):
    def measure(specs, root, **how):
        return Costs(**{**vars(made_up_costs(specs, root)), "sizes": {"digits": (700, 50)}})

    row = forecast(config_of(), tmp_path, results=tmp_path, measure=measure).rows[0]
    assert row.samples == 2 * work(digits_run(epochs=2.0), 50, 700).samples


def test_the_text_has_the_total_and_what_slows_it_down(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "processor", lambda: "a processor")
    text = made(tmp_path, cores=2).as_text()
    assert "mine: 8 runs to train, 2 at a time, on a processor: " in text
    assert "Other programs" not in text
    assert "finished" not in text

    def measure(specs, root, **how):
        return Costs(**{**vars(made_up_costs(specs, root)), "slowdown": 2.0})

    slow = forecast(config_of(), tmp_path, results=tmp_path, measure=measure).as_text()
    assert "2.0 times as long" in slow
