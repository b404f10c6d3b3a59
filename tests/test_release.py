"""What a release consists of: its version in all places, its change log, its workflows."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from conftest import REPOSITORY

import ngo

WORKFLOWS = sorted(REPOSITORY.glob(".github/workflows/*.yml"))


def steps(path):
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def test_the_version_is_one():
    for name in ("pyproject.toml", "src/verdicts/pyproject.toml"):
        project = tomllib.loads((REPOSITORY / name).read_text())
        assert project["tool"]["setuptools_scm"]["fallback_version"] == ngo.__version__
        assert project["project"]["dynamic"] == ["version"]
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert citation["version"] == ngo.__version__
    changes = (REPOSITORY / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)[0] in ("Unreleased", ngo.__version__)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_jobs_are_limited(path):
    workflow = yaml.safe_load(path.read_text())
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", each) for each in used)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert workflow["concurrency"]
    assert all(job["timeout-minutes"] for job in workflow["jobs"].values())


def test_what_the_pipeline_adds_is_known_to_the_command_line():
    from packaging.requirements import Requirement

    from ngo.cli.cli import PIPELINE

    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = {Requirement(each).name for each in extras["optional-dependencies"]["pipeline"]}
    assert {name.split("-")[0] for name in wanted} <= PIPELINE


def test_the_library_imports_nothing_that_only_the_pipeline_needs():
    """``fit``, ``train``, ``methods``, ``verdicts check``: their modules, and what they import."""
    from ngo.cli.cli import PIPELINE

    code = (
        "import sys, ngo; ngo.fit\n"
        "from ngo.cli import train_command, list_commands\n"
        "import verdicts, verdicts.cli\n"
        f"print(sorted({PIPELINE!r} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=120) == "[]\n"
