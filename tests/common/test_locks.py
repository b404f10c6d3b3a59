import errno
import sys
import threading

import pytest
import running

from ngo.common.files import exclusive_lock, file_lock, try_lock
from ngo.common.registry import UserError


def test_a_lock_has_one_holder_until_it_is_released(tmp_path):
    lock = exclusive_lock(tmp_path / "new/lock")
    with pytest.raises(UserError, match="lock: another process is working in this folder"):
        exclusive_lock(tmp_path / "new/lock")
    assert try_lock(tmp_path / "new/lock") is None
    lock.release()
    exclusive_lock(tmp_path / "new/lock").release()


def test_a_lock_ends_with_its_process(tmp_path):
    code = (
        "import sys, time; from ngo.common.files import exclusive_lock\n"
        "lock = exclusive_lock(sys.argv[1]); print('held', flush=True); time.sleep(600)"
    )
    holder = running.start([sys.executable, "-c", code, tmp_path / "lock"])
    assert holder.stdout.readline() == "held\n"
    assert try_lock(tmp_path / "lock") is None
    holder.kill()
    running.awaited(lambda: try_lock(tmp_path / "lock") is not None)


def never():
    raise AssertionError


def test_a_second_holder_waits_and_the_last_removes_the_file(tmp_path):
    path, order = tmp_path / "lock", []

    def second():
        with file_lock(path, lambda: order.append("waits")):
            order.append("second")

    with file_lock(path, never):
        assert try_lock(path) is None
        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        running.awaited(lambda: order)
        order.append("first")
    thread.join(running.LIMIT)
    assert order == ["waits", "first", "second"]
    assert not list(tmp_path.iterdir())


def test_a_lock_on_a_removed_file_excludes_nobody(tmp_path):
    removed = try_lock(tmp_path / "lock")
    (tmp_path / "lock").unlink()
    with file_lock(tmp_path / "lock", never):
        assert try_lock(tmp_path / "lock") is None
    removed.release()


@pytest.fixture(params=[errno.ENOLCK, errno.ENOSYS])
def no_locks(request, monkeypatch):
    """A file system without locks."""

    def none(*_):
        raise OSError(request.param, "no locks here")

    monkeypatch.setattr("fcntl.flock", none)


def test_without_locks_a_folder_is_not_locked_and_a_line_says_so(tmp_path, no_locks, caplog):
    held = [exclusive_lock(tmp_path / "lock") for _ in range(2)]
    line = "lock: this file system has no locks (no locks here); start one process at a time"
    assert [line in message for message in caplog.messages] == [True, True]
    for lock in held:
        lock.release()


@pytest.mark.parametrize("no_locks", [errno.ENOLCK], indirect=True)
def test_without_locks_the_block_runs_unlocked(tmp_path, no_locks):
    with file_lock(tmp_path / "lock", never), file_lock(tmp_path / "lock", never):
        pass
    assert not list(tmp_path.iterdir())
