import re

import pytest
from conftest import REPOSITORY
from packaging.requirements import Requirement

LOCKS = ("requirements.lock", "requirements-cluster.lock")


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


def test_the_clusters_lock_adds_what_its_group_wants(tool):
    added = tool.locked("requirements-cluster.lock")
    assert not set(added) & set(tool.locked())
    for requirement in map(Requirement, tool.project()["optional-dependencies"]["cluster"]):
        assert requirement.specifier.contains(added[requirement.name])


@pytest.mark.parametrize(("lock", "packages"), [*zip(LOCKS, (100, 1), strict=True)])
def test_every_locked_package_has_hashes_and_no_address(lock, packages):
    text = (REPOSITORY / lock).read_text()
    entries = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) > packages
    for entry in entries:
        assert "==" in entry.splitlines()[0]
        assert "--hash=sha256:" in entry
    assert "://" not in text
    assert "index" not in text.split("--hash")[0]
