import os

import pytest

from ngo.common.paths import check_path, check_readable, check_writable, writable_folder
from ngo.common.registry import UserError


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        UserError, match="out: the folder '.*file/sub' can't be written to: Not a dir"
    ):
        writable_folder(tmp_path / "file/sub")


def test_a_folder_without_room_is_named(tmp_path):
    assert writable_folder(tmp_path / "new/folder", room=1000).is_dir()
    assert not list((tmp_path / "new/folder").iterdir())


def test_a_path_is_not_empty_and_is_utf8():
    assert str(check_path("a/b", "key")) == "a/b"
    with pytest.raises(UserError, match="key: '' is not a path; it is empty[.]"):
        check_path("", "key")
    with pytest.raises(UserError, match="key: 'a.udcff' is not UTF-8[.]"):
        check_path("a\udcff", "key")


def test_a_readable_file_is_a_file_or_a_pipe(tmp_path):
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    for name in ("file", "pipe"):
        assert check_readable(tmp_path / name, "key") == tmp_path / name
    for path, reason in (
        (tmp_path, "can't be read: Is a directory"),
        (tmp_path / "none", "can't be read: No such file"),
        (os.devnull, "is not a file[.]"),
    ):
        with pytest.raises(UserError, match=f"key: '{path}' {reason}"):
            check_readable(path, "key")


def test_a_writable_path_is_checked_without_creating_anything(tmp_path):
    (tmp_path / "file").write_text("mine")
    assert check_writable(tmp_path / "a/b/c.txt") == tmp_path / "a/b/c.txt"
    assert check_writable(tmp_path / "a/b", folder=True) == tmp_path / "a/b"
    assert check_writable(tmp_path / "file") == tmp_path / "file"
    for path, folder, reason in (
        (tmp_path, False, "exists and is not a file; choose another path[.]"),
        (tmp_path / "file", True, "exists and is not a folder; choose another path[.]"),
        (tmp_path / "file/x", False, "can't be written: Not a directory"),
        (tmp_path / ("n" * 300), False, "can't be written: File name too long"),
    ):
        with pytest.raises(UserError, match=f"out: '{path}' {reason}"):
            check_writable(path, folder=folder)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
