import sys

import numpy as np
import pytest

from ngo.common.registry import UserError
from ngo.data.array_files import array_names, as_inputs, as_targets, read_arrays


def test_arrays_of_a_numpy_file_by_name(tmp_path):
    path, x = tmp_path / "data.npz", np.arange(6.0).reshape(2, 3)
    np.savez(path, x_train=x, other=x[:1])
    assert array_names(path) == ["other", "x_train"]
    found = read_arrays(path, "x_train", "other")
    assert [each.tolist() for each in found] == [x.tolist(), x[:1].tolist()]
    with pytest.raises(UserError, match="has no array 'x_trian'; it has other, x_train.* Did you"):
        read_arrays(path, "x_trian")


def test_arrays_of_a_hdf5_file_by_name(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x_train"] = np.arange(6.0)
    assert array_names(tmp_path / "data.h5") == ["x_train"]
    assert read_arrays(tmp_path / "data.h5", "x_train")[0].tolist() == list(range(6))


def test_a_hdf5_file_needs_its_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "data.h5").touch()
    with pytest.raises(UserError, match="'.*data.h5' is a HDF5 file, which needs h5py: pip inst"):
        array_names(tmp_path / "data.h5")


@pytest.mark.parametrize("content", [b"", b"PK\3\4 damaged", b"\x93NUMPY"])
def test_a_damaged_file_is_named_in_one_line(tmp_path, content):
    (tmp_path / "data.npz").write_bytes(content)
    with pytest.raises(UserError, match=r"data.root: '.*data.npz' can't be read: ") as error:
        read_arrays(tmp_path / "data.npz", "x")
    assert "\n" not in str(error.value)


def test_a_pickled_array_is_refused(tmp_path):
    np.savez(tmp_path / "data.npz", x=np.array([{}], dtype=object))
    with pytest.raises(UserError, match="data.npz' can't be read: Object arrays cannot be loaded"):
        read_arrays(tmp_path / "data.npz", "x")


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((2, 5, 6), (2, 1, 5, 6)),
        ((2, 5, 6, 3), (2, 3, 5, 6)),
        ((2, 5, 6, 1), (2, 1, 5, 6)),
        ((2, 3, 5, 6), (2, 3, 5, 6)),
        ((2, 3, 5, 3), (2, 3, 5, 3)),
    ],
)
def test_images_get_their_channels_first(shape, wanted):
    images = np.arange(np.prod(shape)).reshape(shape).astype(np.uint8)
    found = as_inputs(images)
    assert found.shape == wanted
    if shape[-1] in (1, 3) and shape != wanted:
        assert np.array_equal(found[1, 0], images[1, :, :, 0])
    assert as_inputs(images.astype(np.float32)).shape == shape


def test_targets_are_labels_or_a_row_of_numbers_for_each_sample():
    assert as_targets(np.array([[3], [4]])).tolist() == [3, 4]
    assert as_targets(np.array([3, 4], np.uint8)).tolist() == [3, 4]
    assert as_targets(np.array([0.5, 1.5])).tolist() == [[0.5], [1.5]]
    assert as_targets(np.ones((2, 3))).shape == (2, 3)
