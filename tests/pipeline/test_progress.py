"""The arithmetic of what is left, with a clock and records that are made up."""

import pytest
from recorded_runs import made_up
from runs import digits_run

from ngo.pipeline.progress import EVERY, IMAGE, Progress, duration, weight
from ngo.pipeline.work import work


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def make(specs, records, **how):
    clock = Clock()
    read = lambda run, results: records.get(run)  # noqa: E731
    return Progress(specs, "results", clock=clock, read=read, **how), clock


def test_with_one_job_at_a_time_equal_runs_take_equally_long():
    specs = [digits_run(seed=seed) for seed in range(4)]
    progress, clock = make(specs, {spec.id: made_up(60) for spec in specs})
    progress.start(specs[0].id)
    clock.now += 60
    assert progress.finish(specs[0].id) == "1 of 4 runs, 1 min; about 3 min left"


def test_runs_at_work_count_for_the_time_since_their_start():
    specs = [digits_run(seed=seed) for seed in range(6)]
    progress, clock = make(specs, {spec.id: made_up(60) for spec in specs})
    for spec in specs[:2]:
        progress.start(spec.id)
    clock.now += 60
    progress.finish(specs[0].id)
    assert progress.seconds_left() == pytest.approx(2 * 60)  # four more, two at a time
    clock.now += 1000  # longer than expected: no more than done
    assert progress.seconds_left() == pytest.approx(1060 * 4 / 2)


def test_on_a_cluster_runs_at_work_may_be_waiting():
    specs = [digits_run(seed=seed) for seed in range(4)]
    progress, clock = make(specs, {spec.id: made_up(60) for spec in specs}, here=False)
    for spec in specs:
        progress.start(spec.id)
    clock.now += 60
    progress.finish(specs[0].id)
    assert progress.seconds_left() == pytest.approx(3 * 60)


def test_long_runs_are_left_for_longer():
    short, long = digits_run(epochs=1.0), digits_run(epochs=9.0, eval_every=4.5)
    amounts = [weight(work(spec, 359)) for spec in (short, long)]
    progress, clock = make([short, long], {short.id: made_up(30)})
    progress.start(short.id)
    clock.now += 30
    progress.finish(short.id)
    assert progress.seconds_left() == pytest.approx(30 * amounts[1] / amounts[0])


def test_each_kind_of_run_has_its_own_cost():
    """A run of the other model takes four times as long for the same work."""
    cheap = [digits_run(seed=seed) for seed in range(3)]
    dear = [digits_run(seed=seed, model="mnist_fc") for seed in range(3)]
    records = {spec.id: made_up(10) for spec in cheap} | {spec.id: made_up(40) for spec in dear}
    progress, clock = make([*cheap, *dear], records)
    for spec, seconds in ((cheap[0], 10), (dear[0], 40)):
        progress.start(spec.id)
        clock.now += seconds
        progress.finish(spec.id)
    assert progress.seconds_left() == pytest.approx(2 * 10 + 2 * 40)


def test_a_kind_without_a_finished_run_costs_what_all_cost():
    first, other = digits_run(), digits_run(model="mnist_fc")
    progress, clock = make([first, other], {first.id: made_up(10)})
    progress.start(first.id)
    clock.now += 10
    progress.finish(first.id)
    assert progress.seconds_left() == pytest.approx(10)


def test_the_time_around_short_runs_counts():
    """The runs take 1 s, and their processes 5."""
    specs = [digits_run(epochs=1.0), digits_run(epochs=2.0, eval_every=1.0)]
    progress, clock = make(specs, {specs[0].id: made_up(1)})
    progress.start(specs[0].id)
    clock.now += 5
    progress.finish(specs[0].id)
    ratio = weight(work(specs[1], 359)) / weight(work(specs[0], 359))
    assert progress.seconds_left() == pytest.approx(4 + ratio)


def test_a_run_that_diverged_early_does_not_make_the_others_look_short():
    specs = [digits_run(seed=seed) for seed in range(2)]
    steps = work(specs[0], 359).steps
    progress, clock = make(specs, {specs[0].id: made_up(10, steps=steps // 2)})
    progress.start(specs[0].id)
    clock.now += 10
    progress.finish(specs[0].id)
    assert progress._expected(specs[1]) == pytest.approx(20)


def test_evaluations_count_as_forward_passes():
    each = work(digits_run(), 359)
    assert weight(each) == each.samples + IMAGE * each.images


def test_lines_are_apart_but_the_last_run_has_one():
    specs = [digits_run(seed=seed) for seed in range(5)]
    progress, clock = make(specs, {spec.id: made_up(10) for spec in specs})
    said = []
    for spec, seconds in zip(specs, (10, 10, 10, EVERY, 1), strict=True):
        progress.start(spec.id)
        clock.now += seconds
        said.append(progress.finish(spec.id))
    assert [line is not None for line in said] == [True, False, False, True, True]
    assert said[-1] == "5 of 5 runs, 1 min"


def test_other_jobs_and_runs_that_end_twice_change_nothing():
    spec = digits_run()
    progress, _ = make([spec], {})
    assert progress.seconds_left() is None
    assert progress.line() == "0 of 1 runs, 0 s"
    progress.start("another")
    assert progress.finish("another") is None
    assert progress.finish(spec.id) == "1 of 1 runs, 0 s"
    assert progress.finish(spec.id) is None


def test_without_a_record_runs_are_counted_alone():
    specs = [digits_run(seed=seed) for seed in range(2)]
    progress, clock = make(specs, {})
    progress.start(specs[0].id)
    clock.now += 60
    assert progress.finish(specs[0].id) == "1 of 2 runs, 1 min"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (29, "29 s"), (31, "1 min"), (41 * 60, "41 min"), (7800, "2 h 10 min"),
     (3600, "1 h 00 min")],
)  # fmt: skip
def test_a_duration_is_short(seconds, text):
    assert duration(seconds) == text
