"""Files of strangers, and files that appear together or not at all."""

import errno
import os
from pathlib import Path

import pytest

from verdicts.files import regular_file, write_together
from verdicts.registry import UserError


@pytest.mark.timeout(60)
def test_a_pipe_a_device_and_a_large_file_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/zero", tmp_path / "zero")
    os.symlink("loop", tmp_path / "loop")
    for name in ("pipe", "zero", "", "loop", "absent", "a" * 5000, "nul\0"):
        with pytest.raises(
            UserError, match=r"^key: '.*' (can't be read: [^\n]+|does not exist)[.]"
        ):
            regular_file(tmp_path / name, "key", 10)
    (tmp_path / "file").write_text("x" * 11)
    assert regular_file(tmp_path / "file", "key", 11) == tmp_path / "file"
    with pytest.raises(UserError, match="has 11 bytes; at most 10"):
        regular_file(tmp_path / "file", "key", 10)


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    contents = {"a.txt": "one", "b.txt": "two"}
    write_together(tmp_path / "out", contents, [])
    write = Path.write_bytes

    def full(path, content):
        if path.name == "b.txt":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match=r"^out: '.*out': No space left on device\.$"):
        write_together(tmp_path / "out", {"a.txt": "new", "b.txt": "new"}, [])
    found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert found == contents


def test_nothing_is_written_over_an_input_or_what_is_no_file(tmp_path):
    (tmp_path / "b.txt").write_text("mine")
    with pytest.raises(UserError, match="b.txt' is what is read; choose another folder"):
        write_together(tmp_path, {"a.txt": "x", "b.txt": "x"}, [tmp_path / "b.txt"])
    (tmp_path / "b.txt").unlink()
    os.mkfifo(tmp_path / "b.txt")
    with pytest.raises(UserError, match="b.txt' is there, and is not a regular file"):
        write_together(tmp_path, {"a.txt": "x", "b.txt": "x"}, [])
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]
