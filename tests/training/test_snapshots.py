import numpy as np
import pytest
import torch
from runs import digits_run, train
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.engine.population import Population
from ngo.training.run import run
from ngo.training.snapshots import load_snapshots, module, restored, save_snapshots
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError


def test_snapshots_are_read_as_they_were_written(digits, tmp_path):
    spec = digits_run(epochs=0.5)
    kept = train(spec, digits, snapshots=[0, 3]).kept
    for name in ("a", "b"):
        save_snapshots(tmp_path / name, spec, kept)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again, loaded = load_snapshots(tmp_path / "a")
    assert again == spec
    assert torch.equal(restored(again, loaded[3]).X, kept[3]["X"])


def test_a_file_without_models_is_refused(digits, tmp_path):
    spec = digits_run(epochs=0.1)
    save_snapshots(tmp_path / "b", spec, train(spec, digits, snapshots=[0]).kept)
    (tmp_path / "a").write_bytes((tmp_path / "b").read_bytes()[:-100])
    run(spec, tmp_path / "run", tmp_path)
    (tmp_path / "text").write_text("models")
    for other in ("a", "text", "run/metrics.parquet", "run/run.json"):
        with pytest.raises(UserError) as told:
            load_snapshots(tmp_path / other)
        assert str(told.value) == (
            f"models: {str(tmp_path / other)!r} holds no models of a run; it is no models.pt that "
            f"ngo train wrote, or damaged."
        )
    with pytest.raises(UserError, match="^models: '.*none' does not exist"):
        load_snapshots(tmp_path / "none")


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"workers": 10**30}},
        {"spec": {"workers": 5}},
        {"spec": {"model": "a\nb"}},
        {"snapshots": 3},
        {"snapshots": {0: {"X": torch.zeros(3, 2), "buffers": torch.zeros(3, 0)}}},
        {"snapshots": {0: {"X": torch.tensor(0.0), "buffers": torch.tensor(0.0)}}},
    ],
)
def test_models_that_fit_no_run_are_refused(tmp_path, change):
    spec = digits_run().values()
    models = {"X": torch.zeros(4, 2), "buffers": torch.zeros(4, 0)}
    content = {"spec": {**spec, **change.get("spec", {})}, "snapshots": {0: models}}
    torch.save({**content, **{k: v for k, v in change.items() if k != "spec"}}, tmp_path / "m.pt")
    with pytest.raises(UserError, match="^models: '.*m.pt' holds no models of a run") as told:
        load_snapshots(tmp_path / "m.pt")
    assert "\n" not in str(told.value)


def test_models_of_another_shape_are_named():
    spec = digits_run()
    models = {"X": torch.zeros(4, 1), "buffers": torch.zeros(4, 0)}
    with pytest.raises(
        UserError, match=r"^models: those of digits-\S+ have the shape \[4, 1\]; exp"
    ):
        restored(spec, models)


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
        assert getattr(losses, how)() == pytest.approx(
            getattr(last, f"workers_loss_{how}"), rel=1e-5
        )
        assert getattr(accuracies, how)() == pytest.approx(
            getattr(last, f"workers_accuracy_{how}"), abs=1.01 / 360
        )
    with pytest.raises(UserError, match=r"worker: 4 is not in digits-.*; its workers are 0 to 3"):
        module(spec, snapshot, 4)


def test_modules_of_snapshots_have_their_batch_normalization():
    """Each worker's own buffers; the consensus model has their mean."""
    values = {"dataset": "cifar10", "model": "cifar10_vae", "task": "vae", "workers": 2}
    spec = resolve({}, {**values})
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
