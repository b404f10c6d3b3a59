import json
from itertools import islice

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ngo import columns, datasets, kernels, training
from ngo.models import mnist_cnn
from ngo.partition_file import draw, held_out
from ngo.registry import UserError
from ngo.seeding import stream_seed, torch_stream
from ngo.snapshots import load_snapshots, module, restored, save_snapshots
from ngo.spec import DEFAULTS, resolve


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return datasets.load("digits", tmp_path_factory.mktemp("data"))


def spec_of(**values):
    small = {"dataset": "digits", "batch_size": 16, "epochs": 1.0, "workers": 4, "eval_every": 0.5}
    return resolve({}, {**DEFAULTS, **small, **values})


def train(spec, digits, **how):
    return training.train(spec, digits, draw(spec, digits.train_targets.numpy()), **how)


def without_clock(rows):
    return [{k: v for k, v in vars(row).items() if k != "seconds"} for row in rows]


def test_batches_pass_over_all_samples_and_are_always_full():
    owned = np.array([3, 5, 8, 13, 21])
    stream = training.BatchStream(owned, 2, torch_stream(0, "batches", 0))
    drawn = torch.cat(list(islice(stream, 10))).tolist()
    for k in range(4):
        assert sorted(drawn[5 * k : 5 * k + 5]) == owned.tolist()
    assert drawn[:5] != drawn[5:10]


def test_schedule_has_the_first_and_last_step_and_every_interval():
    spec = spec_of(epochs=3, eval_every=1, workers=4, batch_size=10)
    assert training.schedule(spec, owned=400) == [0, 10, 20, 30]
    assert training.schedule(spec_of(epochs=2.5, eval_every=1, batch_size=10), 400) == [
        0,
        10,
        20,
        25,
    ]
    assert training.schedule(spec_of(epochs=1, eval_every=9, batch_size=10), 400) == [0, 10]
    assert training.schedule(spec_of(epochs=1e-6, batch_size=10), 400) == [0, 1]


def test_centralized_on_one_worker_is_plain_torch_sgd(digits):
    """Step by step, each from the same state: pooling magnifies differences of rounding."""
    spec = spec_of(protocol="centralized", workers=1, epochs=0.3, lr=0.1, backend="loop")
    parts = draw(spec, digits.train_targets.numpy())
    run = training.Training(spec, digits, parts)
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(0, "init"))
        model = mnist_cnn(torch_stream(0, "dropout", 0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    stream = training.BatchStream(parts[0], 16, torch_stream(0, "batches", 0))

    def compare(step):
        indices = next(stream)
        optimizer.zero_grad()
        images = digits.normalised(digits.train_inputs[indices])
        F.cross_entropy(model(images), digits.train_targets[indices]).backward()
        optimizer.step()
        ours = run.population.networks[0].parameters()
        with torch.no_grad():
            for own, plain in zip(ours, model.parameters(), strict=True):
                assert torch.allclose(own, plain, atol=1e-5)
                plain.copy_(own)

    run.proceed(progress=compare)
    assert run.step > 20


def test_exact_averaging_on_the_complete_graph_is_centralized(tmp_path):
    """Same batches, γ = 1, p = 1: every step ends with all workers at the mean.

    On a convex problem, which does not magnify differences of rounding.
    """
    data = datasets.load("least_squares", tmp_path)
    common = {"dataset": "least_squares", "model": "linear", "task": "regression", "lr": 0.02}
    gossip = spec_of(protocol="gossip", topology="complete", gamma=1.0, **common)
    rows, decentralized, _ = train(gossip, data)
    reference, centralized, _ = train(spec_of(protocol="centralized", **common), data)
    assert rows[-1].step > 20
    assert torch.allclose(decentralized.X, centralized.X, atol=1e-5)
    for ours, theirs in zip(rows, reference, strict=True):
        assert ours.V < 1e-9
        assert ours.train_loss == pytest.approx(theirs.train_loss, rel=1e-4, nan_ok=True)
        assert ours.consensus_loss == pytest.approx(theirs.consensus_loss, rel=1e-4)


def test_centralized_workers_never_part(digits):
    rows, population, _ = train(spec_of(protocol="centralized"), digits)
    assert (population.X[0] == population.X).all()
    for row in rows:
        assert row.V == 0
        assert row.workers_accuracy_min == row.workers_accuracy_max == row.consensus_accuracy


def test_local_sgd_with_period_1_is_gossip(digits):
    local = spec_of(protocol="local_sgd", p=0.9, local_steps=1)
    assert without_clock(train(local, digits)[0]) == without_clock(train(spec_of(), digits)[0])


def test_linear_local_sgd_with_period_1_is_gossip(digits):
    local = spec_of(protocol="local_sgd", p=1.0, local_steps=1)
    gossip = train(spec_of(protocol="gossip"), digits)[0]
    assert without_clock(train(local, digits)[0]) == without_clock(gossip)


def test_delay_0_is_undelayed(digits):
    stale = train(spec_of(protocol="delayed", delay=0), digits)[0]
    assert without_clock(stale) == without_clock(train(spec_of(), digits)[0])


def test_random_graphs_with_every_edge_are_complete(digits):
    drawn = train(spec_of(topology="random", u=1.0), digits)[0]
    assert without_clock(drawn) == without_clock(train(spec_of(topology="complete"), digits)[0])


def test_held_out_samples_are_evaluated_and_not_trained_on(digits):
    spec = spec_of(holdout=0.25, epochs=0.5)
    m = len(digits.train_targets)
    held, parts = held_out(spec, m), draw(spec, digits.train_targets.numpy())
    assert len(held) == round(0.25 * m)
    assert not set(held) & set(np.concatenate(parts))
    assert len(held) + sum(map(len, parts)) == m
    rows, population, _ = training.train(spec, digits, parts)
    inputs, targets = digits.normalised(digits.train_inputs[held]), digits.train_targets[held]
    outputs = population.modules()[0](inputs)
    accuracy = (outputs.argmax(1) == targets).double().mean().item()
    assert rows[-1].holdout_accuracy == pytest.approx(accuracy)
    assert rows[-1].holdout_loss == pytest.approx(
        F.cross_entropy(outputs, targets).item(), rel=1e-5
    )
    assert np.isnan(train(spec_of(epochs=0.1), digits)[0][-1].holdout_loss)


def test_snapshots_are_the_workers_models_after_their_steps(digits, tmp_path):
    spec = spec_of(epochs=0.5)
    rows, population, kept = train(spec, digits, snapshots=[0, 3, "final"])
    assert list(kept) == [0, 3, rows[-1].step]
    assert torch.equal(kept[rows[-1].step]["X"], population.X)
    assert (kept[0]["X"] == kept[0]["X"][0]).all()
    short = train(spec_of(epochs=3 * 4 * 16 / 1437), digits)
    assert short[0][-1].step == 3
    assert torch.equal(short[1].X, kept[3]["X"])
    for name in ("a", "b"):
        save_snapshots(tmp_path / name, spec, kept)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again, loaded = load_snapshots(tmp_path / "a")
    assert again == spec
    assert torch.equal(restored(again, loaded[3]).X, kept[3]["X"])
    (tmp_path / "a").write_bytes((tmp_path / "b").read_bytes()[:-100])
    training.run(spec_of(epochs=0.1), tmp_path / "run", tmp_path)
    (tmp_path / "text").write_text("models")
    for other in ("a", "text", "run/metrics.parquet", "run/run.json"):
        with pytest.raises(UserError) as told:
            load_snapshots(tmp_path / other)
        assert str(told.value) == (
            f"models: {str(tmp_path / other)!r} holds no models of a run; it is no models.pt that "
            f"ngo train wrote, or damaged."
        )


def scores_of(model, data):
    """Mean loss and accuracy on the test set, by torch alone."""
    with torch.no_grad():
        logits = model((data.test_inputs / 255 - data.mean) / data.std)
    right = (logits.argmax(1) == data.test_targets).double()
    return float(F.cross_entropy(logits, data.test_targets)), float(right.mean())


def test_modules_of_snapshots_score_as_the_run_was_evaluated(digits):
    spec = spec_of(epochs=4.0, eval_every=4.0, topology="ring", lr=0.1)
    rows, _, kept = train(spec, digits, snapshots=["final"])
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
    spec = resolve({}, {**DEFAULTS, **values})
    population = restored(spec, {"X": torch.tensor(0.0), "buffers": torch.tensor(0.0)})
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


@pytest.mark.parametrize(
    ("dataset", "model", "task", "least"),
    [("sine", "toy_net", "regression", 0.1), ("least_squares", "linear", "regression", 2.0)],
)
def test_regressions_are_learned(dataset, model, task, least, tmp_path):
    """To the noise: 0.01 of the sine's, 1 of the least squares'."""
    spec = spec_of(dataset=dataset, model=model, task=task, workers=5, epochs=3.0, lr=0.05)
    rows, _, _ = training.train(
        spec,
        datasets.load(dataset, tmp_path),
        draw(spec, datasets.train_labels(dataset, tmp_path)),
    )
    assert rows[-1].consensus_loss < least < rows[0].consensus_loss
    assert np.isnan(rows[-1].consensus_accuracy)
    assert not rows[-1].diverged


def test_an_autoencoder_is_trained_by_the_same_loop(digits):
    how = {"model": "mnist_vae", "task": "vae", "lr": 0.003, "workers": 2, "eval_every": 1}
    rows, _, _ = train(spec_of(**how, epochs=0.5), digits)
    assert rows[-1].consensus_loss < rows[0].consensus_loss - 20  # nats
    assert np.isnan(rows[-1].workers_accuracy_mean)


def test_local_sgd_talks_every_h_steps(digits):
    rows, _, _ = train(spec_of(protocol="local_sgd", local_steps=3), digits)
    edges, last = 4, rows[-1]
    assert last.messages == 2 * edges * (last.step // 3)
    assert last.bytes_sent == last.messages * 21_840 * 4


def test_the_mean_moves_by_the_mean_gradient_alone(digits):
    """The consensus step conserves the mean: after one step x̄ is the same for every protocol."""
    one = {"epochs": 1e-6}
    means = [
        train(spec_of(**one, **how), digits)[1].X.double().mean(0)
        for how in (
            {"protocol": "centralized"},
            {"protocol": "gossip", "topology": "ring"},
            {"protocol": "ngo", "p": 0.6, "topology": "complete"},
            {"protocol": "ngo", "p": 0.5, "topology": "random"},
            {"protocol": "local_sgd", "local_steps": 5},
        )
    ]
    for mean in means[1:]:
        assert torch.allclose(mean, means[0], atol=1e-7)


def test_protocols_of_one_seed_see_the_same_batches_and_start(digits):
    first = {p: train(spec_of(protocol=p), digits)[0][0] for p in ("centralized", "gossip", "ngo")}
    assert len({row.consensus_loss for row in first.values()}) == 1


@pytest.mark.parametrize("how", [{"backend": "loop"}, {"threads": 1}, {"threads": 3}])
def test_any_backend_and_thread_count_gives_the_same_metrics(digits, how):
    same = train(spec_of(topology="random", p=0.8), digits)[0]
    backend = how.pop("backend", "auto")
    other = train(spec_of(topology="random", p=0.8, backend=backend), digits, **how)[0]
    assert without_clock(other) == without_clock(same)


def test_the_same_run_leaves_the_same_bytes(tmp_path):
    spec = spec_of(epochs=0.5, partition="shards", shards=20)
    for name in ("a", "b"):
        training.run(spec, tmp_path / name, tmp_path)
    first, second = ((tmp_path / name / "metrics.parquet").read_bytes() for name in ("a", "b"))
    assert first == second


def test_a_run_records_what_it_was(tmp_path):
    spec = spec_of(epochs=0.5, topology="random", u=0.3)
    last = training.run(spec, tmp_path / "run", tmp_path)
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert record["id"] == spec.id
    assert resolve(given(record["spec"])) == spec
    assert record["versions"]["torch"] == torch.__version__
    assert record["versions"]["kernels"] == kernels.build()
    assert record["final"]["consensus_accuracy"] == last.consensus_accuracy
    assert {"source", "device", "backend", "wall_seconds", "started", "seed"} <= record.keys()
    assert len(record["evaluation_seconds"]) == 2
    assert record["evaluation_seconds"][-1] == last.seconds <= record["wall_seconds"]
    table, facts = columns.read(tmp_path / "run/metrics.parquet", "metrics")
    assert facts["run"] == spec.id
    assert facts["classes_covered"] == 10
    assert table["step"].tolist()[0] == 0
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["metrics.parquet", "run.json"]


def given(values):
    return {name: value for name, value in values.items() if value is not None}


def test_a_run_that_diverges_says_so_and_ends(digits):
    rows, _, _ = train(spec_of(lr=1e6, protocol="gossip", epochs=5), digits)
    assert rows[-1].diverged
    assert not any(row.diverged for row in rows[:-1])
    assert rows[-1].epoch < 5


def test_a_share_smaller_than_a_batch_stops_before_training(digits):
    spec = spec_of(partition="dirichlet", beta=0.01)
    parts = [np.arange(1000), np.arange(1000, 1400), np.arange(1400, 1410), np.arange(1410, 1437)]
    with pytest.raises(UserError, match="batch_size: 16 is larger than a worker's share of 10"):
        training.train(spec, digits, parts)


def test_real_mnist_is_learned(mnist_root, tmp_path):
    spec = resolve(
        {}, {**DEFAULTS, "dataset": "mnist", "protocol": "ngo", "epochs": 0.4, "eval_every": 0.4}
    )
    last = training.run(spec, tmp_path, mnist_root)
    assert last.consensus_accuracy > 0.7
