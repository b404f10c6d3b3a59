import os

import numpy as np
import pytest
from own_data import array_file, image_folder

from ngo.common.registry import UserError
from ngo.data.describe import describe


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


@pytest.mark.parametrize("role", ["x_train", "y_train", "y_test"])
@pytest.mark.parametrize(
    "values",
    [
        np.float32(3),
        np.int64(3),
        np.array(["a"] * 60),
        np.zeros(60, "V3"),
        np.zeros(60, "M8[D]"),
        np.zeros(60, [("a", "i4")]),
        np.zeros(60, complex),
    ],
)
def test_what_is_no_array_of_numbers_is_named(tmp_path, role, values):
    array_file(tmp_path, **{role: values})
    with pytest.raises(UserError, match=f"{role} is .* of shape .*; it must be an array of num"):
        describe(tmp_path / "marks.npz", tmp_path, name="marks")


@pytest.mark.parametrize("role", ["y_train", "y_test"])
@pytest.mark.parametrize("label", [2**62, -1, 10**6])
def test_labels_ask_for_no_more_classes_than_a_data_set_may_have(tmp_path, role, label):
    array_file(tmp_path, **{role: np.full(60 if role == "y_train" else 9, label)})
    with pytest.raises(UserError, match="classes: .* is not allowed|_targets are -1 to") as told:
        describe(tmp_path / "marks.npz", tmp_path, name="marks")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("size", [(10**6, 10**6), (10**30, 1)])
def test_images_are_not_resized_to_more_than_memory_has(tmp_path, size):
    folder = image_folder(tmp_path)
    with pytest.raises(UserError, match="input_shape: .* with a product of 268,435,456 at most"):
        describe(folder, tmp_path, name="birds", size=size)


@pytest.mark.timeout(60)
def test_a_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "marks.npz")
    with pytest.raises(UserError, match="marks.npz' can't be read: it is not a regular file"):
        describe(tmp_path / "marks.npz", tmp_path, name="marks")
