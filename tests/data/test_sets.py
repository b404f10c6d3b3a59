"""Each data set: its samples, and where they come from."""

import gzip
import hashlib
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import idx, real

from ngo.common.registries import DATASETS
from ngo.data import loading
from ngo.data.partition import sample_owners
from ngo.data.sets import synthetic
from ngo.data.sets.cifar import CIFAR10, CIFAR100
from ngo.data.sets.digits import digits_table
from ngo.data.sets.mnist import read_idx
from ngo.training.spec_checks import resolve

TEXT = {"dataset": "markov_text", "model": "gpt_char", "task": "next_character"}


def tiny_cifar(tmp_path, monkeypatch, name, files, key, count, train_samples):
    """Replace the data set ``name``: each file has ``count`` images, and labels under ``key``.

    Returns the data root, and the images and labels by file.
    """
    rng = np.random.default_rng(0)
    contents, sums = {}, {}
    for file in files:
        images = rng.integers(0, 256, (count, 3072), dtype=np.uint8)
        labels = rng.integers(0, DATASETS[name].classes, count).tolist()
        contents[file.split("/")[1]] = images, labels
        values = {b"data": images, key: labels, b"coarse_labels": [0] * count}
        content = pickle.dumps(values, protocol=3)
        content = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")  # released
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(content)
        sums[file] = (hashlib.md5(content).hexdigest(),)
    source = replace(DATASETS[name], files=sums, train_samples=train_samples)
    monkeypatch.setitem(DATASETS, name, source)
    return tmp_path, contents


def stationary(probabilities: np.ndarray) -> np.ndarray:
    """The distribution of two characters in a row in each dialect, ``[dialects, a, b]``."""
    pairs = np.full(probabilities.shape[:3], 1 / synthetic.CHARACTERS**2)
    for _ in range(1000):
        pairs = np.einsum("kab,kabc->kbc", pairs, probabilities)
    return pairs


def entropy_rate(dialects, dialect_distance) -> float:
    """The mean entropy of a character after two others, in nats, if the dialect is known."""
    found = synthetic.chains(dialects, dialect_distance)
    surprise = -np.log(np.where(found > 0, found, 1))
    entropies = np.einsum("kab,kabc,kabc->k", stationary(found), found, surprise)
    return float(entropies[synthetic.dialect_of(dialects)].mean())


def smallest_losses(text, dialects, dialect_distance) -> tuple[float, float]:
    """The mean losses of two best predictions of ``text`` ``[m, 32]``, in nats a character.

    Both know all chains, but not the author of a sample. The first takes all characters before,
    which tell the dialects apart: in expectation, no model has a smaller loss. The second takes
    the last two characters alone.
    """
    text, found = np.asarray(text, np.int64), synthetic.chains(dialects, dialect_distance)
    share = np.bincount(synthetic.dialect_of(dialects), minlength=dialects) / synthetic.AUTHORS
    pairs = share[:, None, None] * stationary(found)  # joint with the dialect
    first, second = text[:, 0], text[:, 1]
    of_one, of_two = pairs.sum(2)[:, first], pairs[:, first, second]
    with_all = with_two = [-np.log(of_two.sum(0) / of_one.sum(0))]
    seen = of_two  # the joint probability of a dialect and all characters so far
    for t in range(2, text.shape[1]):
        a, b, c = text[:, t - 2 : t + 1].T
        after = found[:, a, b, c]
        with_all = [*with_all, -np.log((seen * after).sum(0) / seen.sum(0))]
        with_two = [*with_two, -np.log((pairs[:, a, b] * after).sum(0) / pairs[:, a, b].sum(0))]
        seen = seen * after
    return float(np.mean(with_all)), float(np.mean(with_two))


def test_batches_of_cifar_are_stacked_in_order_and_labels_are_the_fine_ones(tmp_path, monkeypatch):
    """CIFAR-10's, with two images per batch."""
    root, batches = tiny_cifar(tmp_path, monkeypatch, "cifar10", CIFAR10, b"labels", 2, 10)
    data = loading.load("cifar10", root)
    train = [batches[f"data_batch_{i}"] for i in range(1, 6)]
    assert data.train_targets.tolist() == [label for _, labels in train for label in labels]
    assert data.test_targets.tolist() == batches["test_batch"][1]
    assert data.train_inputs.dtype == torch.uint8
    assert data.train_inputs.shape == (10, 3, 32, 32)
    # A row of a batch is all red values, then green, then blue; each row by row.
    assert data.train_inputs[3, 1, 2, 5] == train[1][0][1, 1024 + 2 * 32 + 5]
    assert data.mean.shape == data.std.shape == (3, 1, 1)
    labels = loading.train_labels("cifar10", root)
    assert labels.dtype == np.int64
    assert labels.tolist() == data.train_targets.tolist()
    root, files = tiny_cifar(tmp_path, monkeypatch, "cifar100", CIFAR100, b"fine_labels", 4, 4)
    data = loading.load("cifar100", root)
    assert data.train_targets.tolist() == files["train"][1]
    assert data.test_targets.tolist() == files["test"][1]
    assert data.test_inputs[3, 1, 2, 5] == files["test"][0][3, 1024 + 2 * 32 + 5]


def test_real_cifar10():
    root = real("cifar-10-batches-py/test_batch")
    data = loading.load("cifar10", root)
    assert data.train_inputs.shape == (50_000, 3, 32, 32)
    assert torch.bincount(data.train_targets).tolist() == [5000] * 10
    assert torch.bincount(data.test_targets).tolist() == [1000] * 10
    assert data.mean.flatten().tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)
    assert data.std.flatten().tolist() == pytest.approx([0.2470, 0.2435, 0.2616], abs=1e-4)


def test_digits_are_scikit_learns(tmp_path):
    from sklearn.datasets import load_digits

    table = digits_table()
    bundled = load_digits()
    rows = {tuple(row) for row in table.tolist()}
    assert len(table) == 1797
    pairs = zip(bundled.data.astype(int).tolist(), bundled.target.tolist(), strict=True)
    assert rows == {(*image, label) for image, label in pairs}
    data = loading.load("digits", tmp_path)
    assert data.train_inputs.shape == (1437, 1, 28, 28)
    assert data.test_inputs.shape == (360, 1, 28, 28)
    assert len(data.train_inputs) == DATASETS["digits"].train_samples
    assert data.train_targets.numpy().tolist() == loading.train_labels("digits", tmp_path).tolist()
    assert int(data.train_inputs.max()) == 255
    assert torch.unique(data.test_targets).tolist() == list(range(10))


def test_real_mnist(mnist_root):
    data = loading.load("mnist", mnist_root)
    assert data.train_inputs.shape == (60_000, 1, 28, 28)
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert torch.bincount(data.test_targets).tolist() == counts
    assert (data.mean.item(), data.std.item()) == pytest.approx((0.1307, 0.3081), abs=1e-4)


def both(data):
    return (data.train_inputs, data.train_targets), (data.test_inputs, data.test_targets)


def test_the_sine_has_the_stated_noise_and_least_squares_one_solution():
    data = synthetic.read_sine(Path())
    for x, y in both(data):
        assert np.abs(x).max() == pytest.approx(np.pi, abs=0.01)
        assert x.std() == pytest.approx(np.pi / 3**0.5, rel=0.02)  # uniform
        noise = y - np.sin(x)
        assert noise.std() == pytest.approx(0.1, rel=0.04)
        assert abs(noise.mean()) < 0.01
        assert abs(np.corrcoef(x.ravel(), noise.ravel())[0, 1]) < 0.06
    data = synthetic.read_least_squares(Path())
    solution = np.linalg.lstsq(data.train_inputs, data.train_targets, rcond=None)[0]
    for inputs, targets in both(data):
        assert np.cov(inputs.T) == pytest.approx(np.eye(10), abs=0.12)
        assert (targets - inputs @ solution).std() == pytest.approx(1, rel=0.04)
    assert np.linalg.norm(solution) > 1


def test_options_of_a_run_decide_the_text_which_is_the_same_every_time(tmp_path):
    first, second = synthetic.read_markov_text(Path()), synthetic.read_markov_text(Path())
    for a, b in zip(vars(first).values(), vars(second).values(), strict=True):
        assert np.array_equal(a, b)
    assert first.train_inputs.shape == (16_000, 32)
    assert set(np.unique(first.train_inputs)) == set(range(8))
    assert first.train_targets.tolist() == [*range(16)] * 1000
    assert first.test_targets.tolist() == [*range(16)] * 100
    assert not np.array_equal(first.train_inputs[:1600], first.test_inputs)
    assert sample_owners("markov_text", tmp_path).tolist() == [[k % 16] for k in range(16_000)]
    labels = loading.train_labels("markov_text", tmp_path)
    assert labels.tolist() == loading.load("markov_text", tmp_path).labels.tolist()
    spec = resolve({**TEXT, "dialects": 1, "dialect_distance": 0.25})
    data = loading.load("markov_text", tmp_path, run=spec)
    expected = synthetic.read_markov_text(tmp_path, dialects=1, dialect_distance=0.25)
    assert np.array_equal(data.train_inputs.numpy(), expected.train_inputs)
    default = loading.load("markov_text", tmp_path)
    same = loading.load("markov_text", tmp_path, run=resolve(TEXT))
    assert (default.train_inputs == same.train_inputs).all()
    assert (default.train_inputs != data.train_inputs).any()
    assert resolve(TEXT).id != spec.id
    assert resolve(TEXT).partition_id == spec.partition_id


@pytest.mark.parametrize("distance", [0, 0.5])
def test_characters_follow_the_chain_of_their_author(distance):
    """The share of each character after each two is the chain's, in the first ones too."""
    arrays = synthetic.read_markov_text(Path(), dialects=2, dialect_distance=distance)
    text, found = arrays.train_inputs.astype(int), synthetic.chains(2, distance)
    for dialect, first in ((0, 0), (1, 8)):
        own = text[(arrays.train_targets >= first) & (arrays.train_targets < first + 8)]
        counts = np.zeros((8, 8, 8))
        np.add.at(counts, (own[:, :-2], own[:, 1:-1], own[:, 2:]), 1)
        seen = counts.sum(-1, keepdims=True)
        often = seen[..., 0] > 5000
        shares = counts / np.maximum(seen, 1)
        assert abs(shares - found[dialect])[often].max() < 0.02
        assert often.sum() > 5
        start = np.bincount(own[:, 0] * 8 + own[:, 1], minlength=64) / len(own)
        assert abs(start - stationary(found)[dialect].ravel()).max() < 0.015


def test_the_smallest_losses_of_the_test_set():
    """With one dialect they are the chain's entropy and that of the second character; with more,
    the characters before the last two tell dialects apart.
    """
    found = {}
    for dialects, distance in ((1, 0.5), (8, 0), (8, 0.25), (8, 0.5)):
        how = {"dialects": dialects, "dialect_distance": distance}
        text = synthetic.read_markov_text(Path(), **how).test_inputs
        found[dialects, distance] = smallest_losses(text, **how)
    for one in ((1, 0.5), (8, 0)):
        with_all, with_two = found[one]
        assert with_all == pytest.approx(with_two)
        assert with_all == pytest.approx(entropy_rate(*one), abs=0.04)
    for several in ((8, 0.25), (8, 0.5)):
        with_all, with_two = found[several]
        assert entropy_rate(*several) < with_all < with_two < np.log(8)
    assert found[1, 0.5][0] == pytest.approx(1.279, abs=5e-4)
    assert found[8, 0.5] == pytest.approx([1.337, 1.665], abs=5e-4)


def test_idx_files_plain_and_compressed(tmp_path):
    array = np.arange(24).reshape(2, 3, 4)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx(array)))
    for name in ("plain", "packed"):
        assert np.array_equal(read_idx(tmp_path / name), array)
