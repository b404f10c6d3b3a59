"""A training: what is learned, evaluated, held out and kept."""

import math

import numpy as np
import pytest
import torch
from runs import digits_run, train, trained
from torch.nn import functional as F

from ngo.data import loading
from ngo.engine.population import Scores
from ngo.training.evaluation import evaluated_workers, evaluation_steps, make_evaluation
from ngo.training.learning_problem import make_problem
from ngo.training.partition_file import draw, held_out


def test_exact_averaging_on_the_complete_graph_is_centralized(tmp_path):
    """Same batches, γ = 1, p = 1: every step ends with all workers at the mean.

    On a convex problem, which does not magnify differences of rounding.
    """
    data = loading.load("least_squares", tmp_path)
    common = {"dataset": "least_squares", "model": "linear", "task": "regression", "lr": 0.02}
    gossip = digits_run(method="gossip", topology="complete", gamma=1.0, **common)
    rows, decentralized = trained(gossip, data)
    reference, centralized = trained(digits_run(method="centralized", **common), data)
    assert rows[-1].step > 20
    assert torch.allclose(decentralized.X, centralized.X, atol=1e-5)
    for ours, theirs in zip(rows, reference, strict=True):
        assert ours.V < 1e-9
        assert ours.train_loss == pytest.approx(theirs.train_loss, rel=1e-4, nan_ok=True)
        assert ours.consensus_loss == pytest.approx(theirs.consensus_loss, rel=1e-4)


def test_centralized_workers_stay_equal(digits):
    rows, population = trained(digits_run(method="centralized", epochs=0.3), digits)
    assert (population.X[0] == population.X).all()
    for row in rows:
        assert row.V == 0
        assert row.workers_accuracy_min == row.workers_accuracy_max == row.consensus_accuracy


def test_held_out_samples_are_evaluated_and_not_trained_on(digits):
    spec = digits_run(holdout=0.25, epochs=0.5)
    m = len(digits.train_targets)
    held, parts = held_out(spec, m), draw(spec, digits.labels)
    assert len(held) == round(0.25 * m)
    assert not set(held) & set(np.concatenate(parts))
    assert len(held) + sum(map(len, parts)) == m
    rows, population = trained(spec, digits, parts=parts)
    inputs, targets = digits.normalised(digits.train_inputs[held]), digits.train_targets[held]
    outputs = population.models()[0](inputs)
    accuracy = (outputs.argmax(1) == targets).double().mean().item()
    assert rows[-1].holdout_accuracy == pytest.approx(accuracy)
    assert rows[-1].holdout_loss == pytest.approx(
        F.cross_entropy(outputs, targets).item(), rel=1e-5
    )
    assert np.isnan(trained(digits_run(epochs=0.1), digits)[0][-1].holdout_loss)


@pytest.mark.parametrize(
    ("dataset", "model", "task", "least"),
    [("sine", "toy_net", "regression", 0.1), ("least_squares", "linear", "regression", 2.0)],
)
def test_regressions_are_learned(dataset, model, task, least, tmp_path):
    """To the noise: 0.01 of the sine's, 1 of the least squares'."""
    spec = digits_run(dataset=dataset, model=model, task=task, workers=5, epochs=3.0, lr=0.05)
    rows, _ = trained(spec, loading.load(dataset, tmp_path))
    assert rows[-1].consensus_loss < least < rows[0].consensus_loss
    assert np.isnan(rows[-1].consensus_accuracy)
    assert not rows[-1].diverged


def test_the_mean_moves_by_the_mean_gradient_alone(digits):
    """The consensus step conserves the mean: after one step x̄ is the same for every method."""
    one = {"epochs": 1e-6}
    means = [
        trained(digits_run(**one, **how), digits)[1].X.double().mean(0)
        for how in (
            {"method": "centralized"},
            {"method": "gossip", "topology": "ring"},
            {"method": "ngo", "p": 0.6, "topology": "complete"},
            {"method": "ngo", "p": 0.5, "topology": "random"},
            {"method": "local_sgd", "local_steps": 5},
        )
    ]
    for mean in means[1:]:
        assert torch.allclose(mean, means[0], atol=1e-7)


def test_a_diverged_run_is_marked_and_ends(digits):
    rows, _ = trained(digits_run(lr=1e6, method="gossip", epochs=5), digits)
    assert rows[-1].diverged
    assert not any(row.diverged for row in rows[:-1])
    assert rows[-1].epoch < 5


def test_snapshots_are_the_workers_models_after_their_steps(digits):
    training = train(digits_run(epochs=0.5), digits, snapshots=[0, 3, "final"])
    rows, kept = training.rows, training.kept
    assert list(kept) == [0, 3, rows[-1].step]
    assert torch.equal(kept[rows[-1].step]["X"], training.population.X)
    assert (kept[0]["X"] == kept[0]["X"][0]).all()
    short = train(digits_run(epochs=3 * 4 * 16 / 1437), digits)
    assert short.rows[-1].step == 3
    assert torch.equal(short.population.X, kept[3]["X"])


def test_a_part_of_the_test_set_serves_before_the_last_step(digits):
    spec = digits_run(epochs=2, eval_images=50)
    problem = make_problem(spec, digits)
    last = spec.steps(problem.owned)
    assert sum(len(chunk) for chunk in problem.test_at(0)[1]) == 50
    assert sum(len(chunk) for chunk in problem.test_at(last - 1)[1]) == 50
    assert sum(len(chunk) for chunk in problem.test_at(last)[1]) == len(digits.test_targets)
    whole = make_problem(digits_run(), digits)
    assert whole.test_at(0) is whole.test


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
