from dataclasses import replace

import numpy as np
import pytest
import torch
from runs import digits_run, train, trained, without_clock
from torch.nn import functional as F

from ngo.data import loading
from ngo.training.loop import Training
from ngo.training.partition_file import draw, held_out
from ngo.training.problem import make_problem


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
    rows, population = trained(digits_run(method="centralized"), digits)
    assert (population.X[0] == population.X).all()
    for row in rows:
        assert row.V == 0
        assert row.workers_accuracy_min == row.workers_accuracy_max == row.consensus_accuracy


def test_local_sgd_with_period_1_is_gossip(digits):
    local = digits_run(method="local_sgd", local_steps=1)
    rows = trained(local, digits)[0]
    assert without_clock(rows) == without_clock(trained(digits_run(), digits)[0])


def test_a_sample_of_the_workers_is_evaluated(digits):
    spec = digits_run(epochs=0.5)
    every, _ = trained(spec, digits)
    few, _ = trained(replace(spec, eval_workers=2), digits)
    assert few[-1].consensus_loss == every[-1].consensus_loss
    assert few[-1].workers_loss_mean == (few[-1].workers_loss_min + few[-1].workers_loss_max) / 2
    assert every[-1].workers_loss_min <= few[-1].workers_loss_min < every[-1].workers_loss_max


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


def test_an_autoencoder_is_trained_by_the_same_loop(digits):
    how = {"model": "mnist_vae", "task": "vae", "lr": 0.003, "workers": 2, "eval_every": 1}
    rows, _ = trained(digits_run(**how, epochs=0.5), digits)
    assert rows[-1].consensus_loss < rows[0].consensus_loss - 20  # nats
    assert np.isnan(rows[-1].workers_accuracy_mean)


def test_local_sgd_exchanges_every_h_steps(digits):
    rows, _ = trained(digits_run(method="local_sgd", local_steps=3), digits)
    edges, last = 4, rows[-1]
    assert last.messages == 2 * edges * (last.step // 3)
    assert last.bytes_sent == last.messages * 21_840 * 4


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


@pytest.mark.parametrize("backends", [("loop", "threads"), ("auto", "auto")])
def test_any_thread_count_gives_the_same_metrics(digits, backends):
    first, second = (digits_run(topology="random", p=0.8, backend=name) for name in backends)
    expected = without_clock(trained(first, digits, threads=1)[0])
    for threads in (2, 3):
        assert without_clock(trained(second, digits, threads=threads)[0]) == expected


def test_a_diverged_run_is_marked_and_ends(digits):
    rows, _ = trained(digits_run(lr=1e6, method="gossip", epochs=5), digits)
    assert rows[-1].diverged
    assert not any(row.diverged for row in rows[:-1])
    assert rows[-1].epoch < 5


def test_a_restored_training_continues_to_the_same_rows(digits):
    spec = digits_run(epochs=0.5, eval_every=0.1)
    problem = make_problem(spec, digits)
    whole, begun, resumed = (Training(spec, problem, snapshots=[2]) for _ in range(3))
    whole.proceed()

    class Enough(Exception):
        pass

    def stop(step):
        if step == 7:
            raise Enough

    with pytest.raises(Enough):
        begun.proceed(progress=stop)
    resumed.load_state_dict(begun.state_dict())
    assert (resumed.step, resumed.resumed, resumed.ended) == (7, [7], False)
    resumed.proceed()
    assert resumed.ended
    assert without_clock(resumed.rows) == without_clock(whole.rows)
    assert torch.equal(resumed.population.X, whole.population.X)
    assert torch.equal(resumed.kept[2]["X"], whole.kept[2]["X"])


def test_snapshots_are_the_workers_models_after_their_steps(digits):
    training = train(digits_run(epochs=0.5), digits, snapshots=[0, 3, "final"])
    rows, kept = training.rows, training.kept
    assert list(kept) == [0, 3, rows[-1].step]
    assert torch.equal(kept[rows[-1].step]["X"], training.population.X)
    assert (kept[0]["X"] == kept[0]["X"][0]).all()
    short = train(digits_run(epochs=3 * 4 * 16 / 1437), digits)
    assert short.rows[-1].step == 3
    assert torch.equal(short.population.X, kept[3]["X"])
