"""The methods of Snakemake that the workflow replaces."""

import asyncio
import sys
import threading
from types import SimpleNamespace

import pytest
import snakemake.api
from running import finished, start
from snakemake.dag import DAG
from snakemake.io import _IOFile
from snakemake.scheduling.job_scheduler import JobRateLimiter, JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan

from ngo.common.registry import UserError
from ngo.pipeline.snakemake_methods import REPLACEMENTS, replace_all

REPLACED = [
    (JobScheduler, "exit_gracefully"),
    (JobScheduler, "_schedule_reevalutation"),
    (_IOFile, "is_newer"),
    (DAG, "check_output_mtime"),
]


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """The methods of Snakemake as they were, at the end."""
    for owner, method in REPLACED:
        monkeypatch.setattr(owner, method, getattr(owner, method))


def test_each_method_is_replaced_once():
    before = [getattr(owner, method) for owner, method in REPLACED]
    replace_all()
    replace_all()
    assert len(before) == len(REPLACEMENTS)
    for (owner, method), original in zip(REPLACED, before, strict=True):
        assert getattr(owner, method) is not original
        assert getattr(owner, method).__wrapped__ is original


@pytest.mark.parametrize(("owner", "method"), REPLACED)
def test_a_snakemake_without_the_method_is_refused(monkeypatch, owner, method):
    monkeypatch.delattr(owner, method)
    with pytest.raises(UserError) as told:
        replace_all()
    version = snakemake.__version__
    place = f"{owner.__module__}:{owner.__name__}.{method}"
    assert str(told.value).startswith(f"snakemake: version {version} has no {place}, which the")
    assert "requirements.lock" in str(told.value)


@pytest.mark.parametrize(("owner", "method"), REPLACED)
def test_a_snakemake_with_other_code_in_the_method_is_refused(monkeypatch, owner, method):
    monkeypatch.setattr(owner, method, lambda self, *_: None)
    with pytest.raises(UserError, match=f"has other code in .*{owner.__name__}.{method}"):
        replace_all()


def test_no_file_is_newer_than_another_and_none_is_too_new():
    replace_all()
    assert asyncio.run(_IOFile.is_newer(None, 0)) is False
    assert asyncio.run(DAG.check_output_mtime(None, None, None)) is None


@pytest.fixture
def timers(monkeypatch):
    """The delays of the timers that Snakemake starts."""
    found = []

    def timer(delay, function):
        found.append(delay)
        return SimpleNamespace(start=lambda: None)

    monkeypatch.setattr(threading, "Timer", timer)
    replace_all()
    return found


def test_a_round_is_due_later_only_where_the_limit_is_reached(timers):
    scheduler = JobScheduler.__new__(JobScheduler)
    scheduler.job_rate_limiter = limit = JobRateLimiter(MaxJobsPerTimespan(3, "1h"))
    limit.register_jobs(2)
    scheduler._schedule_reevalutation(limit.timespan)
    assert timers == []
    limit.register_jobs(1)
    scheduler._schedule_reevalutation(limit.timespan)
    assert timers == [3600]


def test_other_waits_are_snakemakes(timers):
    scheduler = JobScheduler.__new__(JobScheduler)
    scheduler.job_rate_limiter = JobRateLimiter(MaxJobsPerTimespan(3, "1s"))
    scheduler._schedule_reevalutation(10)  # for its queue of inputs
    scheduler.job_rate_limiter = None
    scheduler._schedule_reevalutation(1)
    assert timers == [10, 1]


TOLD_TO_END = """
import os, signal, threading
from snakemake.scheduling.job_scheduler import JobScheduler
from ngo.pipeline.snakemake_methods import replace_all

replace_all()
scheduler = JobScheduler.__new__(JobScheduler)
scheduler._lock, scheduler._open_jobs = threading.Lock(), threading.Semaphore(0)
signal.signal(signal.SIGTERM, scheduler.exit_gracefully)
for held in (scheduler._lock, scheduler._open_jobs._cond, threading._active_limbo_lock):
    scheduler._user_kill = None
    with held:
        os.kill(os.getpid(), signal.SIGTERM)
        print("the handler has returned", flush=True)
    scheduler._open_jobs.acquire(timeout=20)  # what the scheduler does between jobs
    print(scheduler._user_kill, flush=True)
"""


def test_snakemake_is_told_to_end_though_its_main_thread_holds_a_lock():
    """The scheduler's two, and one that starting a thread takes."""
    out = finished(start([sys.executable, "-c", TOLD_TO_END]), within=60)
    assert out.splitlines() == 3 * ["the handler has returned", "graceful"]
