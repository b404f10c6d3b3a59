import gzip

import numpy as np
import pytest
from conftest import idx

from ngo.common.registry import UserError
from ngo.data.idx import read_idx


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


def test_a_truncated_archive_is_named(tmp_path):
    packed = gzip.compress(idx(np.random.default_rng(0).integers(0, 256, (30, 30))))
    (tmp_path / "file.gz").write_bytes(packed[:-20])
    with pytest.raises(UserError, match=r"file.gz' is not an idx file"):
        read_idx(tmp_path / "file")


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"neither '.*file' nor file.gz exists"):
        read_idx(tmp_path / "file")
