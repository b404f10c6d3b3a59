import pickle
import struct

import numpy as np
import pytest

from ngo.common.registry import UserError
from ngo.data.pickled_batch import read_batch

# How numpy pickles an array: an empty one, then its state.
EMPTY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R"


def array(shape, dtype, data):
    """A pickled array with any state."""
    state = b"K\x01" + shape + dtype + b"\x89" + b"B" + struct.pack("<I", len(data)) + data
    return EMPTY + b"(" + state + b"tb"


def dtype(code, flags=b"K\0"):
    name = b"X" + struct.pack("<I", len(code)) + code
    state = b"(K\x03X\1\0\0\0|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff" + flags + b"tb"
    return b"cnumpy\ndtype\n" + name + b"K\0K\x01\x87R" + state


def batch(data):
    return b"\x80\x03}(C\x04data" + data + b"C\x06labels](K\x07eu."


IMAGE = bytes(range(256)) * 12


def test_a_batch_is_read_as_pickle_reads_it(tmp_path):
    content = batch(array(b"K\x01M\x00\x0c\x86", dtype(b"u1"), IMAGE))
    whole = pickle.loads(content, encoding="bytes")
    assert whole[b"data"].shape == (1, 3072)
    (tmp_path / "b").write_bytes(content)
    images, labels = read_batch(tmp_path / "b", b"labels", "a batch")
    assert images.dtype == np.uint8
    assert np.array_equal(images, whole[b"data"].reshape(1, 3, 32, 32))
    assert labels.tolist() == [7]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "content",
    [
        batch(array(b"K\x01M\x00\x0c\x86", dtype(b"O8"), IMAGE)),  # bytes as pointers
        batch(array(b"K\x01M\x00\x0c\x86", dtype(b"i8"), IMAGE)),
        batch(array(b"K\x02M\x00\x0c\x86", dtype(b"u1"), IMAGE)),
        batch(array(b"J\xff\xff\xff\xffJ\x00\xf4\xff\xff\x86", dtype(b"u1"), IMAGE)),
        batch(array(b"K\x01M\x00\x0c\x86", b"N", IMAGE)),
        batch(b"K\x01"),
        b"\x80\x03Nr\xff\xff\xff\x0f.",  # a place in the memo for which pickle takes 4 GB
        b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",
        b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b".",
        b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"N.",
        b"(" * 10**5 + b"l" * 10**5 + b".",
        b"cos\nsystem\nC\x09touch ran\x85R.",
        b"cnumpy\ndtype\n}C\x01xK\x01sb.",
        pickle.dumps([1]),
        pickle.dumps({}),
        pickle.dumps({b"data": "x", b"labels": [1]}),
        pickle.dumps(None),
        b"",
        b"\x80\x03X\xff\0\0\0abc",
    ],
)
def test_a_strangers_batch_is_refused_in_a_line(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(UserError, match="^data.root: '.*b' is not a batch: ") as told:
        read_batch(tmp_path / "b", b"labels", "a batch")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "ran").exists()


def test_labels_are_whole_numbers(tmp_path):
    content = batch(array(b"K\x01M\x00\x0c\x86", dtype(b"u1"), IMAGE))
    for labels in (b"K\x07", b"N", b"\x8a\x09" + b"\x7f" * 9):
        (tmp_path / "b").write_bytes(content.replace(b"](K\x07e", b"](" + labels + b"e"))
        if labels != b"K\x07":
            with pytest.raises(UserError, match="b' is not a batch: "):
                read_batch(tmp_path / "b", b"labels", "a batch")
