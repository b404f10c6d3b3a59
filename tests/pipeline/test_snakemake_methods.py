import sys

import pytest
from snakemake.io import _IOFile
from snakemake.scheduling.job_scheduler import JobScheduler

from ngo.pipeline import file_dates, rate_limit, sigterm


@pytest.mark.parametrize(
    ("owner", "method", "change"),
    [
        (JobScheduler, "exit_gracefully", sigterm.defer),
        (JobScheduler, "_schedule_reevalutation", rate_limit.relieve),
        (_IOFile, "is_newer", file_dates.ignore),
    ],
)
def test_another_snakemake_is_left_alone(monkeypatch, owner, method, change):
    monkeypatch.delattr(owner, method)
    change()
    assert not hasattr(owner, method)
    monkeypatch.setitem(sys.modules, owner.__module__, None)
    change()
