"""A data set as tensors: types, moments, the part that is evaluated, changed images."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_mnist import tiny_mnist

from ngo.common.seeding import torch_stream
from ngo.data import loading
from ngo.data.augmentation import PADDING, crop_flip
from ngo.data.dataset import DATASETS, Arrays
from ngo.data.dataset import test_samples as samples_of
from ngo.data.loading import load
from verdicts.registry import UserError


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    return tiny_mnist(tmp_path, monkeypatch)


def test_a_data_set_as_tensors(tiny):
    name, root, _ = tiny
    data = loading.load(name, root)
    assert data.train_inputs.shape == (2, 1, 28, 28)
    assert data.train_inputs.dtype == torch.uint8
    assert data.train_targets.tolist() == [3, 7]
    pixels = data.train_inputs.double() / 255
    assert data.mean.item() == pytest.approx(pixels.mean().item(), rel=1e-6)
    assert data.std.item() == pytest.approx(pixels.std(correction=0).item(), rel=1e-6)
    normalised = data.normalised(data.train_inputs).double()
    assert normalised.mean().item() == pytest.approx(0, abs=1e-6)
    assert normalised.std(correction=0).item() == pytest.approx(1, rel=1e-5)
    assert loading.train_labels(name, root).tolist() == [3, 7]


def test_moments_are_exact_across_chunks():
    images = np.random.default_rng(0).integers(0, 256, (1500, 3, 4, 4), dtype=np.uint8)
    pixels = images.transpose(1, 0, 2, 3).reshape(3, -1) / 255
    mean, std = loading.pixel_moments(images)
    assert mean == pytest.approx(pixels.mean(1), rel=1e-12)
    assert std == pytest.approx(pixels.std(1), rel=1e-12)


@pytest.mark.parametrize("name", ["sine", "least_squares"])
def test_regression_data_is_float_and_has_no_classes(name, tmp_path):
    data, source = loading.load(name, tmp_path), DATASETS[name]
    assert data.classes is source.classes is None
    assert data.mean is data.std is None
    assert data.train_inputs.shape == (source.train_samples, *source.input_shape)
    assert data.train_targets.shape == (6400, 1)
    assert len(data.test_inputs) == len(data.test_targets) == 1600
    assert {t.dtype for t in (data.train_inputs, data.test_targets)} == {torch.float32}
    assert data.normalised(data.test_inputs) is data.test_inputs
    labels = loading.train_labels(name, tmp_path)
    assert labels.dtype == np.int64
    assert labels.tolist() == [0] * 6400
    assert list(tmp_path.iterdir()) == []


def arrays(**changed):
    given = {
        "train_inputs": np.zeros((3, 2)),
        "train_targets": np.array([0, 1, 1], np.int32),
        "test_inputs": np.zeros((1, 2)),
        "test_targets": np.array([0], np.uint8),
    }
    return Arrays(**{**given, **changed})


SOURCE = replace(DATASETS["digits"], train_samples=3, input_shape=(2,), classes=2)


def test_arrays_are_cast_to_the_types_of_training(tmp_path):
    backwards = np.arange(6.0).reshape(3, 2)[::-1]
    cast = loading.checked_arrays("mine", SOURCE, arrays(train_inputs=backwards), tmp_path)
    assert torch.from_numpy(cast.train_inputs).tolist() == backwards.tolist()
    assert cast.train_inputs.dtype == cast.test_inputs.dtype == np.float32
    assert cast.train_targets.dtype == cast.test_targets.dtype == np.int64


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"train_inputs": np.zeros((3, 4))}, r"train_inputs have shape \(3, 4\); expected \(2,\)"),
        ({"train_inputs": np.zeros((2, 2))}, "there are 3 train_targets; expected 2"),
        ({"test_targets": np.array([2])}, "test_targets are 2 to 2; expected 0 to 1"),
        ({"test_targets": np.array([-1])}, "test_targets are -1 to -1; expected 0 to 1"),
        ({"test_targets": np.array([0.5])}, "test_targets are float32; expected int64 labels"),
        ({"test_targets": np.array(["a"])}, "test_targets are <U1 of shape .*; expected numbers"),
        (
            {"test_inputs": np.zeros((1, 2), int)},
            "test_inputs are int64 .* uint8 images .* float32",
        ),
        (
            {"train_inputs": np.zeros((2, 2)), "train_targets": np.zeros(2, int)},
            "there are 2 training samples; expected 3",
        ),
    ],
)
def test_arrays_that_contradict_the_registered_facts(changed, message, tmp_path):
    with pytest.raises(UserError, match=f"dataset 'mine': {message}"):
        loading.checked_arrays("mine", SOURCE, arrays(**changed), tmp_path)


def test_a_function_that_returns_no_arrays_is_told(tmp_path):
    for returned in (None, tuple(vars(arrays()).values())):
        with pytest.raises(UserError, match=f"returned a {type(returned).__name__}; expected ngo"):
            loading.checked_arrays("mine", SOURCE, returned, tmp_path)


def test_classes_are_balanced_and_the_part_is_fixed():
    data = load("digits", ".")
    part = samples_of(data, 103)
    counts = np.bincount(data.test_targets.numpy()[part], minlength=10)
    assert len(set(part)) == 103
    assert (np.diff(part) > 0).all()
    assert set(counts) == {10, 11}
    assert np.array_equal(part, samples_of(data, 103))
    smaller = samples_of(data, 50)
    assert set(smaller) <= set(part), "a smaller part lies within a larger one"


def coded(b, size=8):
    """Images whose pixels tell row and column: 1 + row in channel 0, 1 + column in channel 1."""
    rows = torch.arange(1, size + 1, dtype=torch.uint8)
    image = torch.stack([rows[:, None].expand(-1, size), rows[None].expand(size, -1)])
    return image.expand(b, -1, -1, -1).contiguous()


def test_each_image_is_a_window_of_its_padded_self_flipped_or_not():
    images = coded(400)
    padded = torch.nn.functional.pad(images, [PADDING] * 4)
    found = crop_flip(images, torch_stream(0, "test"))
    windows = padded.unfold(2, 8, 1).unfold(3, 8, 1)[0].permute(1, 2, 0, 3, 4).flatten(0, 1)
    either = torch.stack([windows, windows.flip(3)])  # [2, 81, 2, 8, 8]
    same = (found[:, None, None] == either[None]).flatten(3).all(3)
    assert same.flatten(1).sum(1).eq(1).all()
    assert 150 < same[:, 1].sum() < 250, "about half of the images are flipped"
    counts = same.any(1).sum(0)
    assert (counts > 0).sum() > 75, "nearly all of the 81 positions occur in 400 draws"
