"""Data of one's own: the facts that are found, and the description that is read."""

import numpy as np
import pytest
import torch
import yaml
from own_data import array_file, image_folder

from ngo.common import plugins
from ngo.common.registry import UserError
from ngo.data import loading
from ngo.data.dataset import DATASETS
from ngo.data.description import as_text, describe, digest, identity
from ngo.data.partition import OWNERS, sample_owners


def test_the_facts_of_a_file_are_found(tmp_path):
    array_file(tmp_path)
    values = describe(tmp_path / "marks.npz", tmp_path, name="marks")
    assert len(values.pop("sha256")) == 64
    assert values == {
        "dataset": "marks",
        "file": "marks.npz",
        "arrays": {"owner_train": "owner_train"},
        "train_samples": 60,
        "input_shape": [1, 28, 28],
        "classes": 3,
    }


def test_the_facts_of_a_folder_are_found(tmp_path):
    folder = image_folder(tmp_path / "root")
    values = describe(folder, tmp_path / "other", name="birds", size=(8, 6), grey=True)
    assert values["folder"] == str(folder)  # not below the data root
    facts = [values[key] for key in ("train_samples", "input_shape", "classes")]
    assert facts == [6, [1, 8, 6], 2]


def test_numbers_are_the_targets_of_regression_data(tmp_path):
    rng = np.random.default_rng(0)
    pairs = {"a": rng.random((5, 2)), "b": rng.random(5), "c": rng.random((3, 2)), "d": np.ones(3)}
    np.savez(tmp_path / "line.npz", **pairs)
    names = dict(zip(("x_train", "y_train", "x_test", "y_test"), "abcd", strict=True))
    values = describe(tmp_path / "line.npz", tmp_path, name="line", arrays=names)
    assert (values["classes"], values["input_shape"], values["arrays"]) == (None, [2], names)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y_train": np.zeros(59, int)}, "there are 59 train_targets; expected 60"),
        ({"y_test": np.arange(9) - 1}, "test_targets are -1 to 7; expected 0 to 7"),
        ({"x_test": np.zeros((9, 4), np.float32)}, r"test_inputs have shape \(9, 4\); expected"),
        ({"x_train": np.zeros((60, 28, 28), int)}, "train_inputs are int64 of shape"),
        ({"x_train": np.full((60, 4), np.nan, np.float32)}, "x_train has values that are not fin"),
        ({"x_test": np.full((9, 28, 28), np.inf)}, "x_test has values that are not finite"),
        ({"y_test": np.full(9, np.nan)}, "y_test has values that are not finite"),
        (
            {"x_train": np.full((60, 4), 1e300), "x_test": np.zeros((9, 4))},
            "240 of train_inputs are not finite in float32",
        ),
        ({"owner_train": np.zeros(59, int)}, r"'owner_train' of .* shape \(59,\); .* \(60,\)"),
        ({"owner_train": np.zeros(60)}, "values of type float64; owners must be whole numbers"),
        ({"owner_train": np.full(60, None)}, "can't be read: Object arrays"),
    ],
)
def test_arrays_that_do_not_fit_together_are_named(tmp_path, arrays, message):
    array_file(tmp_path, **arrays)
    with pytest.raises(UserError, match=message):
        describe(tmp_path / "marks.npz", tmp_path, name="marks")


def test_what_has_no_effect_is_named(tmp_path):
    array_file(tmp_path)
    for key, value in {"size": (8, 6), "grey": True}.items():
        with pytest.raises(UserError, match=f"{key}: '.*marks.npz' is not a folder of images"):
            describe(tmp_path / "marks.npz", tmp_path, name="marks", **{key: value})
    with pytest.raises(UserError, match="array: '.*birds' is a folder of images"):
        describe(image_folder(tmp_path), tmp_path, name="birds", arrays={"x_train": "x"})


def test_what_is_no_data_is_named(tmp_path):
    with pytest.raises(UserError, match="path: '.*/none.npz' does not exist"):
        describe(tmp_path / "none.npz", tmp_path, name="none")
    (tmp_path / "table.csv").touch()
    with pytest.raises(UserError, match="table.csv' is neither a folder of images nor a file of"):
        describe(tmp_path / "table.csv", tmp_path, name="table")
    with pytest.raises(UserError, match="size: images need a height and a width"):
        describe(image_folder(tmp_path), tmp_path, name="birds")


pytestmark = pytest.mark.usefixtures("own_entries")


@pytest.fixture
def marks(tmp_path):
    """A data root with a file of arrays, and its description, which is loaded: the arrays."""
    arrays = array_file(tmp_path)
    load(tmp_path, describe(tmp_path / "marks.npz", tmp_path, name="marks"))
    return arrays


def load(folder, values):
    path = folder / f"{values['dataset']}.yaml"
    path.write_text(as_text(values))
    plugins.load([path])


def test_a_file_of_arrays_is_a_data_set(marks, tmp_path):
    source = DATASETS["marks"]
    assert (source.train_samples, source.input_shape, source.classes) == (60, (1, 28, 28), 3)
    data = loading.load("marks", tmp_path)
    assert torch.equal(data.train_inputs[:, 0], torch.from_numpy(marks["x_train"]))
    assert torch.equal(data.test_inputs[:, 0], torch.from_numpy(marks["x_test"]))
    assert data.test_targets.tolist() == marks["y_test"].tolist()
    assert loading.train_labels("marks", tmp_path).tolist() == marks["y_train"].tolist()
    assert data.mean.item() == pytest.approx(marks["x_train"].mean() / 255)


def test_a_folder_of_images_is_a_data_set(tmp_path):
    folder = image_folder(tmp_path)
    load(tmp_path, describe(folder, tmp_path, name="birds", size=(8, 6)))
    data = loading.load("birds", tmp_path)
    assert data.train_inputs.shape == (6, 3, 8, 6)
    assert data.train_targets.tolist() == [0, 0, 0, 1, 1, 1]
    assert loading.train_labels("birds", tmp_path).tolist() == [0, 0, 0, 1, 1, 1]
    assert "birds" not in OWNERS


def test_another_content_is_refused_before_it_is_used(marks, tmp_path):
    array_file(tmp_path, y_train=np.zeros(60, int))
    for read in (loading.load, loading.train_labels, sample_owners):
        with pytest.raises(UserError, match=r"the content of '.*marks.npz' is not the described"):
            read("marks", tmp_path)


def test_the_identity_is_that_of_the_content_and_not_of_its_place(marks, tmp_path):
    first = identity("marks")
    assert first["sha256"] == digest(tmp_path / "marks.npz")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "marks.npz").rename(tmp_path / "elsewhere/moved.npz")
    values = describe(tmp_path / "elsewhere/moved.npz", tmp_path, name="moved")
    load(tmp_path, values)
    assert values["file"] == "elsewhere/moved.npz"
    assert identity("moved") == first
    assert identity("digits") is None
    load(tmp_path, {**values, "dataset": "renamed", "classes": 4})
    assert identity("renamed") != first


def test_a_name_is_described_once(marks, tmp_path):
    values = yaml.safe_load((tmp_path / "marks.yaml").read_text())
    other = tmp_path / "other.yaml"
    other.write_text(as_text(values | {"classes": 4}))
    with pytest.raises(UserError, match="'other.yaml': another file describes 'marks' already"):
        plugins.load([other])
    other.write_text(as_text(values | {"dataset": "mnist"}))
    with pytest.raises(UserError, match="dataset: 'mnist' is registered already"):
        plugins.load([other])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clases": 3}, "'clases' is unknown; allowed: .* Did you mean 'classes'"),
        ({"classes": 1}, "classes: 1 is not allowed; it must be 2 to 1,000,000, or null"),
        ({"train_samples": "60"}, "train_samples: '60' is not allowed; it must be a whole number"),
        (
            {"input_shape": 28},
            "input_shape: 28 is not allowed; it must be a list of 1 to 8",
        ),
        ({"sha256": "abc"}, "sha256: 'abc' is not allowed; it must be 64 hex digits"),
        ({"sha256": None}, "sha256: None is not allowed"),
        ({"arrays": {"x": "y"}}, "arrays: .* it must be a mapping of x_train, y_train, "),
        ({"folder": "birds"}, "name a file or a folder, and not both"),
        ({"file": "marks.csv"}, "file: 'marks.csv' must be a path that ends in .npz"),
    ],
)
def test_a_wrong_description_is_explained_in_one_line(marks, tmp_path, change, message):
    values = yaml.safe_load((tmp_path / "marks.yaml").read_text()) | {"dataset": "wrong"} | change
    path = tmp_path / "wrong.yaml"
    path.write_text(as_text(values))
    with pytest.raises(UserError, match=f"^plugins: 'wrong.yaml': {message}") as error:
        plugins.load([path])
    assert "\n" not in str(error.value)
    assert "wrong" not in DATASETS
