import errno
import os
import stat
import threading

import pytest
import running

from ngo.files import (
    PARTIAL,
    _is_at,
    clear_partial,
    held,
    hold,
    sweep,
    try_hold,
    whole_file,
    writable_folder,
    write_text,
)
from ngo.registry import UserError
from ngo.sources import PACKAGE, fingerprint, sources


def test_a_file_appears_whole(tmp_path):
    target = tmp_path / "new/folder/file.txt"
    with whole_file(target) as temporary:
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
    write_text(target, "old")

    def interrupted():
        with whole_file(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_a_full_disk_is_told_in_a_line(tmp_path):
    message = "out: '.*file.txt' can't be written: No space left on device"
    with pytest.raises(UserError, match=message), whole_file(tmp_path / "file.txt"):
        raise OSError(errno.ENOSPC, "as any library words it")
    assert not list(tmp_path.iterdir())


def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(UserError, match="out: '.*' is there, and is no file"):
            write_text(tmp_path / name, "text")
    assert stat.S_ISFIFO((tmp_path / "link").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    write_text(tmp_path / "there/file.txt", "old")
    (tmp_path / "link.txt").symlink_to("there/file.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "there/file.txt").read_text() == "new"


def test_what_a_kill_left_half_written_is_removed(tmp_path):
    folder = tmp_path / "runs/a"
    write_text(folder / "whole.txt", "whole")
    for place in (folder, folder.parent):
        (place / f"{PARTIAL}x.txt").write_text("half")
    clear_partial(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [folder / "whole.txt"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        UserError, match="out: the folder '.*file/sub' can't be written to: Not a dir"
    ):
        writable_folder(tmp_path / "file/sub")


def test_a_lock_is_held_by_one_and_ends_with_it(tmp_path):
    held = hold(tmp_path / "lock")
    with pytest.raises(UserError, match="lock: another process is at work"):
        hold(tmp_path / "lock")
    held.close()
    hold(tmp_path / "lock").close()


def never():
    raise AssertionError


def test_a_lock_is_waited_for_and_goes_with_its_holder(tmp_path):
    path, order = tmp_path / "lock", []

    def second():
        with held(path, lambda: order.append("waits")):
            order.append("second")

    with held(path, never):
        assert try_hold(path) is None
        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        running.awaited(lambda: order)
        order.append("first")
    thread.join(running.LIMIT)
    assert order == ["waits", "first", "second"]
    assert not list(tmp_path.iterdir())


def test_a_lock_that_its_holder_removed_is_none(tmp_path):
    """One who opened the file before it went must not hold it beside one who makes it anew."""
    removed = try_hold(tmp_path / "lock")
    (tmp_path / "lock").unlink()
    with held(tmp_path / "lock", never):
        assert not _is_at(tmp_path / "lock", removed)
        assert try_hold(tmp_path / "lock") is None


def test_without_locks_nothing_is_held(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    with held(tmp_path / "lock", never), held(tmp_path / "lock", never):
        pass
    assert not list(tmp_path.iterdir())


def test_what_a_kill_left_of_a_file_is_swept(tmp_path):
    target, other = tmp_path / "file.txt", tmp_path / ".other.txt"
    write_text(target, "whole")
    write_text(other, "mine")
    handle = whole_file(target)
    temporary = handle.__enter__()
    assert len(list(tmp_path.iterdir())) == 3
    sweep(target)
    assert not temporary.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".other.txt", "file.txt"]


def names(*modules):
    return {path.stem for path in sources(*modules)}


def test_sources_are_what_decides_a_run():
    training = names("ngo.training")
    assert {
        "training",
        "coupling",
        "graphs",
        "population",
        "protocols",
        "models",
        "layers",
    } <= training
    assert {"seeding", "partition", "datasets", "consensus", "tasks", "spec"} <= training
    assert not training & {
        "plots",
        "tables",
        "results",
        "cli",
        "experiments",
        "statistics",
        "devices",
    }


def test_a_modules_c_file_is_one_of_its_sources():
    assert [path.name for path in sources("ngo.kernels") if path.suffix == ".c"] == ["kernels.c"]
    assert PACKAGE / "kernels.c" in sources("ngo.training")
    assert PACKAGE / "kernels.c" not in sources("ngo.graphs")


def test_sources_find_imports_inside_functions():
    assert "layers" in names("ngo.models")  # imported where a model is built
    assert "coupling" in names("ngo.protocols")


def test_a_fingerprint_follows_the_bytes(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    before = fingerprint([file])
    assert before == fingerprint([file])
    file.write_text("x = 2\n")
    assert fingerprint([file]) != before


def test_modules_import_from_floors_below_only():
    floors = [
        {"registry", "files", "seeding", "graphs", "coupling", "devices", "columns", "sources"}
        | {"pages", "pool", "fused", "kernels", "sigterm", "transfers", "fields"}
        | {"apart", "earlier", "unique_keys"},
        {"consensus", "theory", "least_squares", "datasets", "image_files", "tinyimagenet"}
        | {"regression", "partition", "layers", "models", "tasks"},
        {"backends", "population", "protocols"},
        {"spec", "measurements", "partition_file", "snapshots", "checkpoint", "training"}
        | {"processes", "mailbox", "network", "distributed", "shares", "meeting"}
        | {"ledger", "participant"},
        {"experiments", "artefacts", "assumptions", "statistics", "results", "notebooks"}
        | {"comparisons", "tuning", "spectra", "dynamics", "theory_tables", "tables", "captions"}
        | {"alignment", "samples", "throughput", "bench", "archive"}
        | {"plots", "curves", "learning_plots", "synchronization_plots", "consensus_plots"}
        | {"measured_plots", "theory_plots"},
        {"options", "cli"},
        {"warm"},
        {"__main__"},
    ]
    floor = {name: k for k, names in enumerate(floors) for name in names}
    assert set(floor) | {"__init__"} == {path.stem for path in PACKAGE.glob("*.py")}
    for path in PACKAGE.glob("*.py"):
        if path.stem == "__init__":
            continue
        # Within a floor an order remains: imports have no circles.
        reached = names(f"ngo.{path.stem}") - {"__init__", path.stem}
        assert max((floor[name] for name in reached), default=0) <= floor[path.stem]
        for name in reached:
            assert path.stem not in names(f"ngo.{name}")
