import hashlib
import os

import pytest

from ngo.common.registry import UserError
from ngo.data import download
from ngo.data.download import content_digest


def test_the_digest_of_a_file_is_its_sha256(tmp_path):
    path = tmp_path / "data.npz"
    path.write_bytes(b"some bytes")
    assert content_digest(path) == hashlib.sha256(b"some bytes").hexdigest()


def test_the_digest_of_a_folder_follows_the_names_and_contents_of_its_files(tmp_path):
    (tmp_path / "d").mkdir()
    for name in ("a", "b"):
        (tmp_path / "d" / name).write_text(name)
    first = content_digest(tmp_path / "d", ["a", "b"])
    assert content_digest(tmp_path / "d", ["a"]) != first
    (tmp_path / "d/b").rename(tmp_path / "d/c")
    assert content_digest(tmp_path / "d", ["a", "c"]) != first
    (tmp_path / "d/c").rename(tmp_path / "d/b")
    (tmp_path / "d/b").write_text("B")
    assert content_digest(tmp_path / "d", ["a", "b"]) != first


def test_a_file_is_read_again_only_if_its_size_or_its_time_has_changed(tmp_path, monkeypatch):
    path, read = tmp_path / "data.npz", []
    digest = download._digest
    monkeypatch.setattr(download, "_digest", lambda *of: read.append(of) or digest(*of))
    path.write_bytes(b"first")
    first = content_digest(path)
    assert content_digest(path) == first
    assert len(read) == 1
    path.write_bytes(b"other")
    os.utime(path, ns=(1, 1))
    assert content_digest(path) == hashlib.sha256(b"other").hexdigest()
    assert len(read) == 2
    (tmp_path / ".data.npz.sha256").write_text("damaged")
    assert content_digest(path) == hashlib.sha256(b"other").hexdigest()


def test_a_digest_that_came_with_a_file_counts_for_nothing(tmp_path):
    """The sizes and times of modification in it may be right: an archive chooses them."""
    path = tmp_path / "data.npz"
    path.write_bytes(b"first")
    first, times = content_digest(path), path.stat()
    path.write_bytes(b"other")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert content_digest(path) == hashlib.sha256(b"other").hexdigest() != first


@pytest.mark.timeout(60)
def test_a_pipe_has_no_digest_and_is_none(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="data.root: '.*pipe' can't be read: it is not a regular"):
        content_digest(tmp_path / "pipe")
    (tmp_path / "x").write_bytes(b"x")
    os.mkfifo(tmp_path / ".x.sha256")
    assert content_digest(tmp_path / "x") == hashlib.sha256(b"x").hexdigest()
