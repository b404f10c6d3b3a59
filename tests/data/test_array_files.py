import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

from ngo.common.registry import UserError
from ngo.data.array_files import array_names, as_inputs, read_arrays


def test_arrays_of_a_numpy_file_by_name(tmp_path):
    path, x = tmp_path / "data.npz", np.arange(6.0).reshape(2, 3)
    np.savez(path, x_train=x, other=x[:1])
    assert array_names(path) == ["other", "x_train"]
    found = read_arrays(path, "x_train", "other")
    assert [array.tolist() for array in found] == [x.tolist(), x[:1].tolist()]
    with pytest.raises(UserError, match="has no array 'x_trian'; it has other, x_train.* Did you"):
        read_arrays(path, "x_trian")


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


def npy(shape, data=b"", descr="|u1"):
    """A file of the npy format with any header."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


def refusal(path, name="x"):
    with pytest.raises(UserError) as told:
        read_arrays(path, name)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 500
    return str(told.value).removeprefix(f"data.root: {str(path)!r} ")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy("(1000000000000,)"), "'x.npy' declares 1000000000000 bytes, and there are 0"),
        (npy("(-1, -3)", b"abc"), "negative"),
        (npy("(True,)", b"a"), "can't be read: "),
        (npy("(1,)", b"a", "|V2147483647"), "declares 2147483647 bytes, and there are 1"),
        (npy("(1,)", b"a", "zz\nzz"), "descr is not a valid dtype descriptor"),
        (npy("(" * 5000), "can't be read: "),
        (b"\x93NUMPY\x09\x09" + bytes(100), "can't be read: "),
        (b"", "can't be read: "),
    ],
)
def test_a_strangers_array_is_refused_before_it_takes_memory(tmp_path, content, reason):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as file:
        file.writestr("x.npy", content)
    assert reason in refusal(tmp_path / "d.npz")


@pytest.mark.timeout(60)
def test_what_is_no_archive_of_arrays_is_named(tmp_path):
    with (tmp_path / "one.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps({}))
    for name in ("one", "pickle"):
        assert refusal(tmp_path / f"{name}.npz") == "can't be read: File is not a zip file"
    os.mkfifo(tmp_path / "pipe.npz")
    assert refusal(tmp_path / "pipe.npz") == "can't be read: it is not a regular file."
    with zipfile.ZipFile(tmp_path / "names.npz", "w") as file:
        file.writestr("a\nb.npy", npy("(0,)"))
    assert "has a file with the name 'a\\nb'" in refusal(tmp_path / "names.npz")
    np.savez(tmp_path / "many.npz", **{f"a{k}": np.zeros(1) for k in range(100)})
    assert "a0, a1, a10, " in refusal(tmp_path / "many.npz")
