"""The memory that a process may use, and how much of it a file may take."""

import resource

import pytest
from cases import cases, mistake_of, refused

from ngo.common import memory
from ngo.common.memory import check_declared, memory_limit


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
