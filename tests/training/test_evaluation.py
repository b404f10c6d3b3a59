import math

import pytest
from runs import digits_run

from ngo.engine.population import Scores
from ngo.training.evaluation import evaluated_workers, evaluation_steps, make_evaluation


def test_steps_are_the_first_the_last_and_every_interval():
    spec = digits_run(epochs=3, eval_every=1, workers=4, batch_size=10)
    assert evaluation_steps(spec, owned=400) == [0, 10, 20, 30]
    uneven = digits_run(epochs=2.5, eval_every=1, batch_size=10)
    assert evaluation_steps(uneven, 400) == [0, 10, 20, 25]
    assert evaluation_steps(digits_run(epochs=1, eval_every=9, batch_size=10), 400) == [0, 10]
    assert evaluation_steps(digits_run(epochs=1e-6, batch_size=10), 400) == [0, 1]


def test_a_sample_of_many_workers_is_scored_the_same_in_all_runs_of_a_seed():
    assert evaluated_workers(digits_run(workers=64)) == list(range(64))
    assert evaluated_workers(digits_run(workers=70, eval_workers=70)) == list(range(70))
    sample = evaluated_workers(digits_run(workers=70))
    assert len(set(sample)) == 64
    assert set(sample) < set(range(70))
    assert sample == sorted(sample)
    other = digits_run(workers=70, method="gossip", p=None, lr=0.3)
    assert evaluated_workers(other) == sample
    assert evaluated_workers(digits_run(workers=70, seed=1)) != sample
    assert len(evaluated_workers(digits_run(workers=70, eval_workers=5))) == 5
    assert len(evaluated_workers(digits_run(workers=4, eval_workers=5))) == 4


def made(step=10, train_loss=0.7, V=0.1, loss=0.5, losses=(0.4, 0.8), holdout=None):
    scores = Scores(loss, 0.9, list(losses), [0.5, 1.0])
    return make_evaluation(
        step, 400, samples=800, train_loss=train_loss, V=V, scores=scores, holdout=holdout,
        messages=7, bytes_sent=28, seconds=1.5,
    )  # fmt: skip


def test_a_row_summarizes_the_workers():
    row = made()
    assert (row.step, row.epoch, row.samples) == (10, 2.0, 800)
    assert (row.workers_accuracy_mean, row.workers_accuracy_min) == (0.75, 0.5)
    assert row.workers_accuracy_max == 1
    assert row.workers_loss_std == pytest.approx(0.2)
    assert (row.messages, row.bytes_sent, row.seconds) == (7, 28, 1.5)
    assert math.isnan(row.holdout_loss)
    held = made(holdout=Scores(0.3, 0.6, [], []))
    assert (held.holdout_loss, held.holdout_accuracy) == (0.3, 0.6)


@pytest.mark.parametrize(
    "values",
    [{"V": math.inf}, {"loss": math.nan}, {"train_loss": math.nan}, {"losses": (1.0, math.inf)}],
)
def test_a_row_that_is_not_finite_has_diverged(values):
    assert made(**values).diverged
    assert str(made(**values)).endswith("  DIVERGED")
    assert not made().diverged
    assert not made(step=0, train_loss=math.nan).diverged  # nothing was trained yet
