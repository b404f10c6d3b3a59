import gzip
import struct

import numpy as np
import pytest
from conftest import idx

from ngo.common.registry import UserError
from ngo.data.sets.mnist import read_idx


def test_idx_files_plain_and_compressed(tmp_path):
    array = np.arange(24).reshape(2, 3, 4)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx(array)))
    for name in ("plain", "packed"):
        assert np.array_equal(read_idx(tmp_path / name), array)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\0", idx(np.zeros((2, 3)))[:-1], idx(np.zeros((2, 3))) + b"x", b"\1" * 40],
)
def test_a_damaged_idx_file_is_named(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UserError, match=r"data.root: '.*file' is not an idx file"):
        read_idx(tmp_path / "file")


def header(*shape):
    return struct.pack(f">HBB{len(shape)}i", 0, 8, len(shape), *shape)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (header(-2, -3) + bytes(6), r"its dimensions are \[-2, -3\], and none may be negative"),
        (header(-(2**31), -(2**31), 4), "none may be negative"),
        (header(2**16, 2**16, 2**16, 2**16), "declares a content of 18446744073709551616"),
        (header() + b"x", "the header does not match the content"),
        (header(*[1] * 255) + b"x", "dimension"),
        (header(2**31 - 1), "declares a content of 2147483647"),
        (header(3, 4)[:9], "unpack requires"),
    ],
)
def test_a_strangers_header_is_refused_before_it_takes_memory(tmp_path, content, reason):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UserError, match=rf"^data.root: '.*file' .*{reason}") as told:
        read_idx(tmp_path / "file")
    assert "\n" not in str(told.value)


def test_a_compressed_file_is_not_unpacked_beyond_what_it_declares(tmp_path, monkeypatch):
    with gzip.open(tmp_path / "file.gz", "wb") as file:
        file.write(header(10, 10) + bytes(10**7))
    read, original = [], gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda *of: read.append(original(*of)) or read[-1])
    with pytest.raises(UserError, match="the header does not match the content"):
        read_idx(tmp_path / "file")
    assert sum(map(len, read)) == 4 + 8 + 101
