from hypothesis import given
from hypothesis import strategies as st
from runs import digits_run

from ngo.pipeline.jobs import evaluation_count, work
from ngo.training.evaluation import evaluation_steps

TEST = 10_000  # as many test samples are assumed


def test_the_work_of_a_run_is_that_of_its_loop():
    """With 4 workers: 5 models at all evaluations but the first, all test images at the last."""
    spec = digits_run(eval_images=100)
    owned = spec.owned
    each = work(spec)
    assert each.steps == spec.steps(owned) == 22
    assert each.samples == 22 * 4 * 16
    assert each.evaluations == len(evaluation_steps(spec, owned)) == 3
    assert each.images == 100 + 5 * 100 + 5 * TEST


@given(st.floats(0.01, 5), st.floats(0.001, 7), st.integers(1, 9))
def test_evaluations_are_counted_as_the_loop_makes_them(epochs, eval_every, workers):
    spec = digits_run(
        epochs=epochs, eval_every=eval_every, workers=workers, method="centralized", topology=None
    )
    assert evaluation_count(spec, 1437) == len(evaluation_steps(spec, 1437))
