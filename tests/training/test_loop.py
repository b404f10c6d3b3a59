"""A training: what is learned, evaluated, held out and kept."""

import math

import numpy as np
import pytest
import torch
from cases import cases, mistake_of, refused
from runs import CONVEX, digits_run, tiny, train, trained
from torch.nn import functional as F

from ngo.common.registries import METHODS
from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.engine.population import Population, Scores
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.training.evaluation import evaluated_workers, evaluation_steps, make_evaluation
from ngo.training.learning_problem import make_problem
from ngo.training.run import run
from ngo.training.snapshots import load_snapshots, module, restored, save_snapshots
from ngo.training.spec_checks import draw, held_out, resolve

ATTACKED = sorted(name for name, entry in METHODS.items() if "attack" in entry.fields)


def test_exact_averaging_on_the_complete_graph_is_centralized(least_squares):
    """Same batches, γ = 1, p = 1: every step ends with all workers at the mean.

    On a convex problem, which does not magnify differences of rounding.
    """
    gossip = digits_run(method="gossip", topology="complete", gamma=1.0, lr=0.02, **CONVEX)
    rows, decentralized = trained(gossip, least_squares)
    exact = digits_run(method="centralized", lr=0.02, **CONVEX)
    reference, centralized = trained(exact, least_squares)
    assert rows[-1].step > 20
    assert torch.allclose(decentralized.X, centralized.X, atol=1e-5)
    for ours, theirs in zip(rows, reference, strict=True):
        assert ours.V < 1e-9
        assert ours.train_loss == pytest.approx(theirs.train_loss, rel=1e-4, nan_ok=True)
        assert ours.consensus_loss == pytest.approx(theirs.consensus_loss, rel=1e-4)


def test_held_out_samples_and_a_part_of_the_test_set_are_evaluated(digits):
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
    loss = F.cross_entropy(outputs, targets).item()
    assert rows[-1].holdout_loss == pytest.approx(loss, rel=1e-5)
    assert np.isnan(trained(digits_run(epochs=0.1), digits)[0][-1].holdout_loss)
    spec = digits_run(epochs=2, eval_images=50)
    problem = make_problem(spec, digits)
    last = spec.steps(problem.owned)
    assert sum(len(chunk) for chunk in problem.test_at(0)[1]) == 50
    assert sum(len(chunk) for chunk in problem.test_at(last - 1)[1]) == 50
    assert sum(len(chunk) for chunk in problem.test_at(last)[1]) == len(digits.test_targets)
    whole = make_problem(digits_run(), digits)
    assert whole.test_at(0) is whole.test


@cases("dataset, model, least", ("sine", "toy_net", 0.1), ("least_squares", "linear", 2.0))
def test_regressions_are_learned(dataset, model, least, tmp_path):
    """To the noise: 0.01 of the sine's, 1 of the least squares'."""
    which = {"dataset": dataset, "model": model, "task": "regression"}
    rows, _ = trained(
        digits_run(**which, workers=5, epochs=3.0, lr=0.05), loading.load(dataset, tmp_path)
    )
    assert rows[-1].consensus_loss < least < rows[0].consensus_loss
    assert np.isnan(rows[-1].consensus_accuracy)
    assert not rows[-1].diverged


def test_snapshots_are_the_workers_models_after_their_steps(digits):
    training = train(digits_run(epochs=0.5), digits, snapshots=[0, 3, "final"])
    rows, kept = training.rows, training.kept
    assert list(kept) == [0, 3, rows[-1].step]
    assert torch.equal(kept[rows[-1].step]["X"], training.population.X)
    assert (kept[0]["X"] == kept[0]["X"][0]).all()
    short = train(digits_run(epochs=3 * 4 * 16 / 1437), digits)
    assert short.rows[-1].step == 3
    assert torch.equal(short.population.X, kept[3]["X"])


def test_evaluations_are_at_every_interval_and_of_a_sample_of_many_workers():
    spec = digits_run(epochs=3, eval_every=1, workers=4, batch_size=10)
    assert evaluation_steps(spec, owned=400) == [0, 10, 20, 30]
    uneven = digits_run(epochs=2.5, eval_every=1, batch_size=10)
    assert evaluation_steps(uneven, 400) == [0, 10, 20, 25]
    assert evaluation_steps(digits_run(epochs=1, eval_every=9, batch_size=10), 400) == [0, 10]
    assert evaluation_steps(digits_run(epochs=1e-6, batch_size=10), 400) == [0, 1]
    assert evaluated_workers(digits_run(workers=64)) == list(range(64))
    assert evaluated_workers(digits_run(workers=70, eval_workers=70)) == list(range(70))
    sample = evaluated_workers(digits_run(workers=70))
    assert len(set(sample)) == 64
    assert set(sample) < set(range(70))
    assert sample == sorted(sample)
    assert evaluated_workers(digits_run(workers=70, method="gossip", p=None, lr=0.3)) == sample
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
    accuracies = row.workers_accuracy_mean, row.workers_accuracy_min, row.workers_accuracy_max
    assert accuracies == (0.75, 0.5, 1)
    assert row.workers_loss_std == pytest.approx(0.2)
    assert (row.messages, row.bytes_sent, row.seconds) == (7, 28, 1.5)
    assert math.isnan(row.holdout_loss)
    held = made(holdout=Scores(0.3, 0.6, [], []))
    assert (held.holdout_loss, held.holdout_accuracy) == (0.3, 0.6)


@cases(
    "values",
    {"V": math.inf},
    {"loss": math.nan},
    {"train_loss": math.nan},
    {"losses": (1.0, math.inf)},
)
def test_a_row_that_is_not_finite_has_diverged(values):
    assert made(**values).diverged
    assert str(made(**values)).endswith("  DIVERGED")
    assert not made().diverged
    assert not made(step=0, train_loss=math.nan).diverged  # nothing was trained yet


def test_snapshots_are_read_as_they_were_written_and_other_files_are_refused(digits, tmp_path):
    spec = digits_run(epochs=0.5)
    kept = train(spec, digits, snapshots=[0, 3]).kept
    for name in ("a", "b"):
        save_snapshots(tmp_path / name, spec, kept)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again, loaded = load_snapshots(tmp_path / "a")
    assert again == spec
    assert torch.equal(restored(again, loaded[3]).X, kept[3]["X"])
    spec = digits_run(epochs=0.1)
    save_snapshots(tmp_path / "b", spec, train(spec, digits, snapshots=[0]).kept)
    (tmp_path / "a").write_bytes((tmp_path / "b").read_bytes()[:-100])
    run(spec, tmp_path / "run", tmp_path)
    (tmp_path / "text").write_text("models")
    for other in ("a", "text", "run/metrics.parquet", "run/run.json"):
        told = mistake_of(load_snapshots, tmp_path / other)
        held = f"models: {str(tmp_path / other)!r} holds no models of a run; it is no models.pt "
        assert told == held + "that ngo train wrote, or damaged."
    refused("^models: '.*none' does not exist", load_snapshots, tmp_path / "none")


@cases(
    "change",
    {"spec": {"workers": 10**30}},
    {"spec": {"workers": 5}},
    {"spec": {"model": "a\nb"}},
    {"snapshots": 3},
    {"snapshots": {0: {"X": torch.zeros(3, 2), "buffers": torch.zeros(3, 0)}}},
    {"snapshots": {0: {"X": torch.tensor(0.0), "buffers": torch.tensor(0.0)}}},
)
def test_models_that_fit_no_run_are_refused(tmp_path, change):
    spec = digits_run().values()
    models = {"X": torch.zeros(4, 2), "buffers": torch.zeros(4, 0)}
    content = {"spec": {**spec, **change.get("spec", {})}, "snapshots": {0: models}}
    torch.save({**content, **{k: v for k, v in change.items() if k != "spec"}}, tmp_path / "m.pt")
    refused("^models: '.*m.pt' holds no models of a run[^\n]*$", load_snapshots, tmp_path / "m.pt")


def test_models_of_another_shape_are_named():
    message = r"^models: those of digits-\S+ have the shape \[4, 1\]; exp"
    refused(message, restored, digits_run(), {"X": torch.zeros(4, 1), "buffers": torch.zeros(4, 0)})


def scores_of(model, data):
    """Mean loss and accuracy on the test set, by torch alone."""
    with torch.no_grad():
        logits = model((data.test_inputs / 255 - data.mean) / data.std)
    right = (logits.argmax(1) == data.test_targets).double()
    return float(F.cross_entropy(logits, data.test_targets)), float(right.mean())


def test_modules_of_snapshots_score_as_the_run_was_evaluated(digits):
    spec = digits_run(epochs=4.0, eval_every=4.0, topology="ring", lr=0.1, p=1.0)
    training = train(spec, digits, snapshots=["final"])
    rows, kept = training.rows, training.kept
    last, snapshot = rows[-1], kept[rows[-1].step]
    loss, accuracy = scores_of(module(spec, snapshot), digits)
    assert loss == pytest.approx(last.consensus_loss, rel=1e-5)
    assert accuracy == pytest.approx(last.consensus_accuracy, abs=1.01 / 360)
    assert accuracy > 0.4  # not chance
    workers = [scores_of(module(spec, snapshot, i), digits) for i in range(spec.workers)]
    losses, accuracies = np.array(workers).T
    assert losses.std() > 1e-4
    for how in ("mean", "min", "max"):
        loss, accuracy = (getattr(last, f"workers_{name}_{how}") for name in ("loss", "accuracy"))
        assert getattr(losses, how)() == pytest.approx(loss, rel=1e-5)
        assert getattr(accuracies, how)() == pytest.approx(accuracy, abs=1.01 / 360)
    refused(r"worker: 4 is .*; the workers of digits-.* are 0 to 3", module, spec, snapshot, 4)


def test_modules_of_snapshots_have_their_batch_normalization():
    """Each worker's own buffers; the consensus model has their mean."""
    spec = resolve({"dataset": "cifar10", "model": "cifar10_vae", "task": "vae", "workers": 2})
    population = Population(spec.model, spec.workers, spec.seed)
    noise = torch_stream(0, "test")
    snapshot = {
        "X": 0.05 * torch.randn(population.X.shape, generator=noise),
        "buffers": 1 + torch.rand(population.buffers.shape, generator=noise),
    }
    population = restored(spec, snapshot)
    images = torch.randint(0, 256, (8, 3, 32, 32), generator=noise, dtype=torch.uint8)
    found = population.evaluate([images / 255], [images])
    for worker, loss in ((None, found.consensus_loss), *enumerate(found.worker_losses)):
        model = module(spec, snapshot, worker)
        assert not model.training
        with torch.no_grad():
            losses = population.task.loss(model(images / 255), images)
        assert float(losses.mean()) == pytest.approx(loss, rel=1e-6)
    assert len(set(found.worker_losses)) == 2
    own = module(spec, snapshot, 1)
    sizes = {p.untyped_storage().nbytes() == p.nbytes for p in own.parameters()}
    assert sizes == {True}  # a file of its state has one model


@pytest.mark.parametrize("chosen", ["compiled", "loop"])
def test_evaluations_are_of_the_workers_that_do_not_lie(chosen, digits):
    lies = {"attack": "noise", "lie_noise": 0.3, "liars": 2}
    spec = digits_run(**lies, workers=5, eval_workers=2, epochs=0.3, backend=chosen)
    rows, population = trained(spec, digits)
    last = rows[-1]
    honest = population.X[:3]
    assert torch.equal(population.honest, honest)
    assert float(synchronization_index(honest)) == last.V
    assert float(synchronization_index(population.X)) != last.V
    assert torch.equal(population.consensus_model(), honest.double().mean(0).float())
    problem = make_problem(spec, digits)
    scored = evaluated_workers(spec)
    assert len(scored) == 2
    assert set(scored) < {0, 1, 2}
    scores = population.evaluate(*problem.test, workers=scored)
    assert last.workers_loss_mean == pytest.approx(np.mean(scores.worker_losses))
    assert last.consensus_loss == pytest.approx(scores.consensus_loss)
    assert len(population.evaluate(*problem.test).worker_losses) == 3


@pytest.mark.parametrize("method", ATTACKED)
def test_a_lie_changes_a_run_of_each_method_that_reads_the_field(method, least_squares):
    graph = "star" if METHODS[method].graph == "tree" else "ring"
    values = {**CONVEX, "method": method, "topology": graph, "workers": 5, "lr": 0.01}
    values |= {"epochs": 0.1, "eval_every": 0.1}
    (rows, _), (others, _) = (
        trained(digits_run(**values, **more), least_squares) for more in ({}, {"attack": "noise"})
    )
    assert rows[-1].messages == others[-1].messages
    assert rows[-1].V != others[-1].V
    assert np.isfinite(others[-1].V)


def test_a_kept_consensus_model_is_that_of_the_workers_that_do_not_lie(least_squares):
    spec = tiny(attack="sign_flip", workers=4)
    _, population = trained(spec, least_squares)
    again = restored(spec, {"X": population.X, "buffers": population.buffers})
    assert torch.equal(again.consensus_model(), population.X[:3].double().mean(0).float())
