"""Files of arrays: their description, what it says, and what a stranger might put into a file."""

import os
import struct
import zipfile

import numpy as np
import pytest
import torch
import yaml
from cases import cases, refused

from ngo.common import memory, plugins
from ngo.common.registries import DATASETS
from ngo.data import loading
from ngo.data.description import as_inputs, as_text, describe, identity
from ngo.data.loading import read_arrays
from ngo.data.partition import OWNERS, sample_owners
from verdicts.registry import UserError

pytestmark = pytest.mark.usefixtures("own_entries")


def array_file(root, **more):
    """A file ``marks.npz`` below ``root``: grey images of 28 × 28 pixels of three classes."""
    rng = np.random.default_rng(0)
    arrays = {
        "x_train": rng.integers(0, 256, (60, 28, 28), dtype=np.uint8),
        "y_train": np.arange(60) % 3,
        "x_test": rng.integers(0, 256, (9, 28, 28), dtype=np.uint8),
        "y_test": np.arange(9) % 3,
        "owner_train": np.array(["eve", "adam", "bob", "kim"])[np.arange(60) // 15],
    }
    np.savez(root / "marks.npz", **{**arrays, **more})
    return arrays


def test_numbers_are_the_targets_of_regression_data(tmp_path):
    x, y = np.random.default_rng(0).random((5, 2)), np.ones(5)
    np.savez(tmp_path / "line.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    values = describe(tmp_path / "line.npz", tmp_path / "other", "line")
    assert values.pop("sha256")
    assert values.pop("file") == str(tmp_path / "line.npz")  # not below the data root
    facts = {"train_samples": 5, "input_shape": [2], "classes": None, "owners": False}
    assert values == {"dataset": "line", **facts}


def numbers(train=0.0, test=0.0):
    return {"x_train": np.full((60, 4), train), "x_test": np.full((9, 4), test)}


@cases(
    "arrays, message",
    ({"y_test": np.arange(9) - 1}, "test_targets are -1 to 7; expected 0 to 7"),
    ({"x_test": np.zeros((9, 4), np.float32)}, r"test_inputs have shape \(9, 4\); expected"),
    ({"x_train": np.zeros((60, 28, 28), int)}, "train_inputs are int64 of shape"),
    ({"x_train": np.array(3.0)}, "train_samples|input_shape"),
    (numbers(train=np.nan), "train_inputs has values that are not finite"),
    (numbers(test=np.inf), "test_inputs has values that are not finite"),
    (numbers(train=1e300), "240 of train_inputs are not finite in float32"),
    (
        {"owner_train": np.zeros(59, int)},
        "owner_train: .* it must have an owner for each of the 60",
    ),
    ({"owner_train": np.full(60, None)}, "can't be read: Object arrays"),
)
def test_arrays_that_do_not_fit_together_are_named(tmp_path, arrays, message):
    array_file(tmp_path, **arrays)
    refused(message, describe, tmp_path / "marks.npz", tmp_path, "marks")


@pytest.fixture
def marks(tmp_path):
    """A data root with a file of arrays, and its description, which is loaded: the arrays."""
    arrays = array_file(tmp_path)
    load(tmp_path, describe(tmp_path / "marks.npz", tmp_path, "marks"))
    return arrays


def load(folder, values):
    path = folder / f"{values['dataset']}.yaml"
    path.write_text(as_text(values))
    plugins.load([path])


def test_a_file_of_arrays_is_a_data_set_and_another_content_is_refused(marks, tmp_path):
    source = DATASETS["marks"]
    assert (source.train_samples, source.input_shape, source.classes) == (60, (1, 28, 28), 3)
    data = loading.load("marks", tmp_path)
    assert torch.equal(data.train_inputs[:, 0], torch.from_numpy(marks["x_train"]))
    assert torch.equal(data.test_inputs[:, 0], torch.from_numpy(marks["x_test"]))
    assert data.test_targets.tolist() == marks["y_test"].tolist()
    assert loading.train_labels("marks", tmp_path).tolist() == marks["y_train"].tolist()
    assert OWNERS["marks"](tmp_path).tolist() == marks["owner_train"].tolist()
    array_file(tmp_path, y_train=np.zeros(60, int))
    for read in (loading.load, loading.train_labels, sample_owners):
        refused(r"the content of '.*marks.npz' is not the described", read, "marks", tmp_path)


def test_the_identity_is_that_of_the_content_and_a_name_is_described_once(marks, tmp_path):
    first = identity("marks")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "marks.npz").rename(tmp_path / "elsewhere/moved.npz")
    values = describe(tmp_path / "elsewhere/moved.npz", tmp_path, "moved")
    load(tmp_path, values)
    assert values["file"] == "elsewhere/moved.npz"
    assert identity("moved") == first
    assert identity("digits") is None
    load(tmp_path, {**values, "dataset": "renamed", "classes": 4})
    assert identity("renamed") != first
    values = yaml.safe_load((tmp_path / "marks.yaml").read_text())
    other = tmp_path / "other.yaml"
    other.write_text(as_text(values | {"classes": 4}))
    refused("'other.yaml': another file describes 'marks' already", plugins.load, [other])
    other.write_text(as_text(values | {"dataset": "mnist"}))
    refused("dataset: 'mnist' is registered already", plugins.load, [other])


@cases(
    "change, message",
    ({"clases": 3}, "'clases' is unknown; allowed: .* Did you mean 'classes'"),
    ({"classes": 1}, "classes: 1 is not allowed; it must be 2 to 1,000,000, or null"),
    ({"train_samples": "60"}, "train_samples: '60' is not allowed; it must be a whole number"),
    ({"input_shape": 28}, "input_shape: 28 is not allowed; it must be a list of 1 to 8"),
    ({"sha256": "abc"}, "sha256: 'abc' is not allowed; it must be 64 hex digits"),
    ({"sha256": None}, "sha256: None is not allowed"),
    ({"file": "marks.csv"}, "file: 'marks.csv' is not allowed; it must be a path that ends in"),
    ({"owners": "yes"}, "owners: 'yes' is not allowed; it must be true or false"),
)
def test_a_wrong_description_is_explained_in_one_line(marks, tmp_path, change, message):
    values = yaml.safe_load((tmp_path / "marks.yaml").read_text()) | {"dataset": "wrong"} | change
    path = tmp_path / "wrong.yaml"
    path.write_text(as_text(values))
    refused(f"^plugins: 'wrong.yaml': {message}", plugins.load, [path])
    assert "wrong" not in DATASETS


@cases(
    "shape, wanted",
    ((2, 5, 6), (2, 1, 5, 6)),
    ((2, 5, 6, 3), (2, 3, 5, 6)),
    *[((2, 3, 5, 6),) * 2],
)
def test_images_get_their_channels_first(shape, wanted):
    images = np.arange(np.prod(shape)).reshape(shape).astype(np.uint8)
    assert as_inputs(images).shape == wanted
    if shape[-1] == 3 and shape != wanted:
        assert np.array_equal(as_inputs(images)[1, 0], images[1, :, :, 0])
    assert as_inputs(images.astype(np.float32)).shape == shape


def npy(shape, data=b"", descr="|u1"):
    """A file of the npy format with any header."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


@cases(
    "content",
    npy("(1000000000000,)"),
    npy("(-1, -3)", b"abc"),
    npy("(1,)", b"a", "|V2147483647"),
    npy("(1,)", b"a", "zz\nzz"),
    npy("(" * 5000),
    b"\x93NUMPY\x09\x09" + bytes(100),
    b"",
)
def test_a_strangers_array_is_refused_before_it_takes_memory(tmp_path, content):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as file:
        file.writestr("x.npy", content)
    with pytest.raises(UserError, match=r"^data.root: '.*d.npz' can't be read: [^\n]{,300}$"):
        read_arrays(tmp_path / "d.npz", ["x"])


@pytest.mark.timeout(60)
def test_what_is_no_file_of_arrays_is_named(tmp_path, monkeypatch):
    with (tmp_path / "one.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    os.mkfifo(tmp_path / "pipe.npz")
    np.savez(tmp_path / "other.npz", other=np.zeros(1), x_train=np.zeros(1))
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", npy("(1200000,)", bytes(1_200_000)))
    monkeypatch.setattr(memory, "ALWAYS", 1000)
    for name, message in {
        "one": "can't be read: File is not a zip file",
        "pipe": "can't be read: it is not a regular file",
        "other": "'x' is unknown; allowed: other, x_train",
        "bomb": "declares a content of 12000",
    }.items():
        refused(message, read_arrays, tmp_path / f"{name}.npz", ["x"])
