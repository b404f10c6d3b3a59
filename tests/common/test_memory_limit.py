import resource

import pytest

from ngo.common import memory_limit as module
from ngo.common.memory_limit import memory_limit


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A process in the control group ``jobs/7``, whose limits tests write."""
    own = tmp_path / "own"
    own.write_text("0::/jobs/7\n9:memory:/jobs/7\n8:cpu,cpuacct:/\n")
    (tmp_path / "jobs/7").mkdir(parents=True)
    (tmp_path / "memory/jobs").mkdir(parents=True)
    monkeypatch.setattr(module, "GROUPS", tmp_path)
    monkeypatch.setattr(module, "OWN", own)
    return tmp_path


def test_without_a_limit_it_is_the_machines_memory(groups):
    whole = memory_limit()
    assert whole > 10**8
    (groups / "jobs/7/memory.max").write_text("max\n")
    assert memory_limit() == whole


@pytest.mark.parametrize(
    "place", ["jobs/7/memory.max", "jobs/memory.max", "memory/jobs/memory.limit_in_bytes"]
)
def test_a_control_group_limits_it_and_so_does_one_around_it(groups, place):
    (groups / place).write_text("5000000\n")
    assert memory_limit() == 5_000_000


def test_a_limit_of_the_process_counts(groups, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (7_000_000, -1))
    assert memory_limit() == 7_000_000
