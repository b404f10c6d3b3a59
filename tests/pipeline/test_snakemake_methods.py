import pytest
import snakemake.api
from snakemake.dag import DAG
from snakemake.io import _IOFile
from snakemake.scheduling.job_scheduler import JobScheduler

from ngo.common.registry import UserError
from ngo.pipeline import file_dates, rate_limit, sigterm

REPLACED = [
    (JobScheduler, "exit_gracefully", sigterm.defer),
    (JobScheduler, "_schedule_reevalutation", rate_limit.relieve),
    (_IOFile, "is_newer", file_dates.ignore),
    (DAG, "check_output_mtime", file_dates.ignore),
]


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """The methods of Snakemake as they were, at the end."""
    for owner, method, _ in REPLACED:
        monkeypatch.setattr(owner, method, getattr(owner, method))


@pytest.mark.parametrize(("owner", "method", "change"), REPLACED)
def test_a_method_is_replaced_once(owner, method, change):
    before = getattr(owner, method)
    change()
    change()
    assert getattr(owner, method) is not before
    assert getattr(owner, method).__wrapped__ is before


@pytest.mark.parametrize(("owner", "method", "change"), REPLACED)
def test_a_snakemake_without_the_method_is_refused(monkeypatch, owner, method, change):
    monkeypatch.delattr(owner, method)
    with pytest.raises(UserError) as told:
        change()
    version = snakemake.__version__
    place = f"{owner.__module__}:{owner.__name__}.{method}"
    assert str(told.value).startswith(f"snakemake: version {version} has no {place}, which the")
    assert "requirements.lock" in str(told.value)


@pytest.mark.parametrize(("owner", "method", "change"), REPLACED)
def test_a_snakemake_with_other_code_in_the_method_is_refused(monkeypatch, owner, method, change):
    monkeypatch.setattr(owner, method, lambda self, *_: None)
    with pytest.raises(UserError, match=f"has other code in .*{owner.__name__}.{method}"):
        change()
