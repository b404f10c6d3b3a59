import re

import pytest
from conftest import REPOSITORY
from packaging.requirements import Requirement

LOCK = (REPOSITORY / "requirements.lock").read_text()


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import environment

    return environment


def test_environment_yml_has_the_locks_versions(tool):
    assert (REPOSITORY / "environment.yml").read_text() == tool.environment()


def test_the_lock_satisfies_pyproject(tool):
    project = tool.project()
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert len(wanted) > 20
    versions = tool.locked()
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(versions[requirement.name])


def test_every_locked_package_has_hashes_and_no_address():
    entries = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) > 100
    for entry in entries:
        assert "==" in entry.splitlines()[0]
        assert "--hash=sha256:" in entry
    assert "://" not in LOCK
    assert "index" not in LOCK.split("--hash")[0]
