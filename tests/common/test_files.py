"""Files appear whole, paths and sizes are checked before they are used, a lock has one holder."""

import errno
import os
import resource
import stat
import sys
import threading

import pytest
import running
from cases import cases, mistake_of, refused

from ngo.common import files, memory
from ngo.common.memory import check_declared, memory_limit
from verdicts.registry import UserError


def test_a_file_appears_complete(tmp_path):
    target = tmp_path / "new/folder/file.txt"
    with files.atomic_file(target) as temporary:
        temporary.write_text("half")
        assert not target.exists()
        assert temporary.suffix == ".txt"
    assert target.read_text() == "half"
    assert [p.name for p in target.parent.iterdir()] == ["file.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "file.txt"
    files.write_text(target, "old")

    def interrupted():
        with files.atomic_file(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_a_full_disk_is_one_line(tmp_path):
    message = "out: '.*file.txt' can't be written: No space left on device"
    with pytest.raises(UserError, match=message), files.atomic_file(tmp_path / "file.txt"):
        raise OSError(errno.ENOSPC, "in any words")
    assert not list(tmp_path.iterdir())


def test_a_device_or_a_pipe_is_not_replaced_and_a_links_file_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        refused("out: '.*' exists and is not a file", files.write_text, tmp_path / name, "text")
    assert stat.S_ISFIFO((tmp_path / "link").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]
    files.write_text(tmp_path / "there/file.txt", "old")
    (tmp_path / "link.txt").symlink_to("there/file.txt")
    files.write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "there/file.txt").read_text() == "new"


def test_a_path_and_a_text_of_limited_size_are_utf8(tmp_path):
    assert str(files.check_path("a/b", "key")) == "a/b"
    for path, reason in (
        ("", "'' is not a path; it is empty[.]"),
        ("a\udcff", "'a.udcff' is not UTF-8[.]"),
        ("a\0b", "'a.x00b' is not a path; it has a NUL[.]"),
        (3, "3 is not a path[.]"),
        (b"x", "b'x' is not a path[.]"),
    ):
        refused(f"^key: {reason}", files.check_path, path, "key")
    (tmp_path / "x").write_bytes("ä".encode())
    assert files.read_limited(tmp_path / "x", "k", 2) == "ä"
    refused("^k: .* has 2 bytes; at most 1", files.read_limited, tmp_path / "x", "k", 1)
    (tmp_path / "x").write_bytes(b"\xff")
    refused(
        "^k: .* can't be read: it is not text in UTF-8", files.read_limited, tmp_path / "x", "k", 2
    )


def test_nothing_waits_for_a_pipe_or_a_device(tmp_path):
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "to_pipe").symlink_to("pipe")
    (tmp_path / "to_zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "link"):
        assert files.check_readable(tmp_path / name, "key") == tmp_path / name
    for path, reason in (
        (tmp_path, "it is not a regular file[.]"),
        (tmp_path / "pipe", "it is not a regular file[.]"),
        (tmp_path / "to_pipe", "it is not a regular file[.]"),
        (tmp_path / "to_zero", "it is not a regular file[.]"),
        (tmp_path / "loop", "Too many levels of symbolic links"),
        (os.devnull, "it is not a regular file[.]"),
    ):
        reason = f"can't be read: {reason}"
        refused(f"key: '{path}' {reason}", files.check_readable, path, "key")
    refused(r"key: '.*none' does not exist[.]", files.check_readable, tmp_path / "none", "key")


def test_a_writable_path_is_checked_without_creating_anything(tmp_path):
    (tmp_path / "file").write_text("mine")
    assert files.check_writable(tmp_path / "a/b/c.txt") == tmp_path / "a/b/c.txt"
    assert files.check_writable(tmp_path / "a/b", folder=True) == tmp_path / "a/b"
    assert files.check_writable(tmp_path / "file") == tmp_path / "file"
    for path, folder, reason in (
        (tmp_path, False, "exists and is not a file; choose another path[.]"),
        (tmp_path / "file", True, "exists and is not a folder; choose another path[.]"),
        (tmp_path / "file/x", False, "can't be written: Not a directory"),
        (tmp_path / ("n" * 300), False, "can't be written: File name too long"),
    ):
        refused(f"out: '{path}' {reason}", files.check_writable, path, folder=folder)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_lock_has_one_holder_until_it_is_released_or_its_process_ends(tmp_path):
    lock = files.exclusive_lock(tmp_path / "new/lock")
    with pytest.raises(UserError, match="lock: another process is working in this folder"):
        files.exclusive_lock(tmp_path / "new/lock")
    assert files.try_lock(tmp_path / "new/lock") is None
    lock.release()
    files.exclusive_lock(tmp_path / "new/lock").release()
    code = (
        "import sys, time; from ngo.common.files import exclusive_lock\n"
        "lock = exclusive_lock(sys.argv[1]); print('held', flush=True); time.sleep(600)"
    )
    holder = running.start([sys.executable, "-c", code, tmp_path / "lock"])
    assert holder.stdout.readline() == "held\n"
    assert files.try_lock(tmp_path / "lock") is None
    holder.kill()
    running.awaited(lambda: files.try_lock(tmp_path / "lock") is not None)


def never():
    raise AssertionError


def test_a_second_holder_waits_and_the_last_removes_the_file(tmp_path):
    path, order = tmp_path / "lock", []

    def second():
        with files.file_lock(path, lambda: order.append("waits")):
            order.append("second")

    with files.file_lock(path, never):
        assert files.try_lock(path) is None
        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        running.awaited(lambda: order)
        order.append("first")
    thread.join(running.LIMIT)
    assert order == ["waits", "first", "second"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_without_locks_none_is_held_and_a_line_says_so(tmp_path, monkeypatch, number, caplog):
    def none(*_):
        raise OSError(number, "no locks here")

    monkeypatch.setattr("fcntl.flock", none)
    held = [files.exclusive_lock(tmp_path / "lock") for _ in range(2)]
    line = "lock: this file system has no locks (no locks here); start one process at a time"
    assert [line in message for message in caplog.messages] == [True, True]
    for lock in held:
        lock.release()
    if number == errno.ENOLCK:
        with files.file_lock(tmp_path / "other", never), files.file_lock(tmp_path / "other", never):
            pass  # the blocks run unlocked
        assert not (tmp_path / "other").exists()


def test_a_declared_size_is_bounded_by_the_files(tmp_path, monkeypatch):
    path, declares = tmp_path / "x", "^k: .* has 10 bytes and declares a content of "
    path.write_bytes(bytes(10))
    check_declared(path, "k", memory.ALWAYS)
    refused(f"{declares}1073741825", check_declared, path, "k", memory.ALWAYS + 1)
    monkeypatch.setattr(memory, "ALWAYS", 100)
    check_declared(path, "k", 2000)
    for size in (2001, 10**5000):
        told = mistake_of(check_declared, path, "k", size)
        assert "at most 2000 are allowed" in told
        assert len(told) < 300
    monkeypatch.setattr(memory, "RATIO", 10**30)
    refused(declares, check_declared, path, "k", 10**20)  # the machine's memory


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A process in the control group ``jobs/7``, whose limits tests write."""
    own = tmp_path / "own"
    own.write_text("0::/jobs/7\n9:memory:/jobs/7\n8:cpu,cpuacct:/\n")
    (tmp_path / "jobs/7").mkdir(parents=True)
    (tmp_path / "memory/jobs").mkdir(parents=True)
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    monkeypatch.setattr(memory, "GROUPS_OF_PROCESS", own)
    return tmp_path


def test_the_limit_is_that_of_the_process_or_the_machines_memory(groups, monkeypatch):
    whole = memory_limit()
    assert whole > 10**8
    (groups / "jobs/7/memory.max").write_text("max\n")
    assert memory_limit() == whole
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (7_000_000, -1))
    assert memory_limit() == 7_000_000


@cases("place", "jobs/7/memory.max", "jobs/memory.max", "memory/jobs/memory.limit_in_bytes")
def test_a_control_group_limits_it_and_so_does_one_around_it(groups, place):
    (groups / place).write_text("5000000\n")
    assert memory_limit() == 5_000_000
