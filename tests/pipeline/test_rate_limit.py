import threading
from types import SimpleNamespace

import pytest
from snakemake.scheduling.job_scheduler import JobRateLimiter, JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan

from ngo.pipeline import rate_limit


@pytest.fixture
def timers(monkeypatch):
    """The delays of the timers that Snakemake starts, with the limit relieved."""
    found = []

    def timer(delay, function):
        found.append(delay)
        return SimpleNamespace(start=lambda: None)

    monkeypatch.setattr(threading, "Timer", timer)
    original = JobScheduler._schedule_reevalutation
    monkeypatch.setattr(JobScheduler, "_schedule_reevalutation", original)
    rate_limit.relieve()
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
