"""What is installed and released: environments, locks, versions, workflows and the catalogue."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

import pytest
import yaml
from conftest import REPOSITORY
from running import finished, snakemake, start

import ngo

LOCKS = ("requirements.lock", "requirements-cluster.lock", "requirements-docs.lock")


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import environment

    return environment


def test_environment_yml_has_the_locks_versions(tool):
    for name, text in tool.texts().items():
        assert (REPOSITORY / name).read_text() == text


def planned(folder, *words, **environment):
    """What make would run."""
    environment = {"PATH": os.environ["PATH"], **environment}
    how = {"cwd": folder, "env": environment, "text": True, "timeout": 60}
    return subprocess.check_output(["make", "--dry-run", "--no-print-directory", *words], **how)


def test_an_active_conda_environment_with_ngo_is_the_only_one(tmp_path):
    words, conda = [REPOSITORY, "--always-make", "demo", "cluster"], {"CONDA_PREFIX": str(tmp_path)}
    assert "-m venv .venv" in planned(*words)
    assert "-m venv .venv" in planned(*words, **conda)  # base, say: no ngo there
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ngo").touch()
    out = planned(*words, **conda)
    assert ".venv" not in out
    assert f"{tmp_path}/bin/" in out


@pytest.mark.parametrize(("lock", "packages"), [*zip(LOCKS, (100, 1, 20), strict=True)])
def test_every_locked_package_has_hashes_and_no_address(lock, packages):
    text = (REPOSITORY / lock).read_text()
    entries = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) > packages
    for entry in entries:
        assert "==" in entry.splitlines()[0]
        assert "--hash=sha256:" in entry
    assert "://" not in text
    assert "index" not in text.split("--hash")[0]


def test_in_a_renamed_folder_the_environment_is_made_anew(tmp_path):
    words = ["setup", f"PYTHON={sys.executable}"]
    (tmp_path / "a/.venv").mkdir(parents=True)
    for name in ("requirements.lock", "pyproject.toml", "Makefile"):
        shutil.copy(REPOSITORY / name, tmp_path / "a")
    assert "-m venv .venv \n" in planned(tmp_path / "a", *words)
    command = f"python3.11 -m venv {tmp_path / 'a'}/.venv"  # as venv itself records it
    (tmp_path / "a/.venv/pyvenv.cfg").write_text(f"version = 3.11.7\ncommand = {command}\n")
    (tmp_path / "a/.venv/installed").touch()
    assert "venv" not in planned(tmp_path / "a", *words)
    (tmp_path / "a").rename(tmp_path / "b")
    assert "-m venv .venv --clear\n" in planned(tmp_path / "b", *words)


WORKFLOWS = sorted(REPOSITORY.glob(".github/workflows/*.yml"))


def test_the_version_is_one():
    for name in ("pyproject.toml", "src/verdicts/pyproject.toml"):
        project = tomllib.loads((REPOSITORY / name).read_text())
        assert project["tool"]["setuptools_scm"]["fallback_version"] == ngo.__version__
        assert project["project"]["dynamic"] == ["version"]
    assert yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())["version"] == ngo.__version__
    changes = (REPOSITORY / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)[0] in ("Unreleased", ngo.__version__)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_jobs_are_limited(path):
    workflow = yaml.safe_load(path.read_text())
    jobs = workflow["jobs"].values()
    used = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", each) for each in used)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert workflow["concurrency"]
    assert all(job["timeout-minutes"] for job in jobs)


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


def test_the_smallest_config_gives_a_plan():
    snakemake(REPOSITORY, "-n", "--quiet", "rules", "--directory", ".test")


@pytest.fixture(scope="module")
def snakemake_alone(tmp_path_factory):
    """A folder of Snakemake and the packages that it requires, and no others."""
    folder, known, waiting = tmp_path_factory.mktemp("alone"), set(), ["snakemake"]
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        known.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for another system
        for top in {path.parts[0] for path in found.files or () if path.parts[0] != ".."}:
            if not (folder / top).exists():
                (folder / top).symlink_to(found.locate_file(top))
        waiting += [
            re.match(r"[\w.-]+", each)[0] for each in found.requires or () if "extra ==" not in each
        ]
    return folder


def test_where_the_package_is_not_installed_one_line_says_so(snakemake_alone):
    command = [sys.executable, "-S", "-m", "snakemake", "-n", "fig3"]  # no other site-packages
    environment = {**os.environ, "PYTHONPATH": str(snakemake_alone)}
    how = {"cwd": REPOSITORY, "env": environment, "stderr": subprocess.STDOUT}
    said = finished(start(command, **how), code=1)
    (line,) = [line for line in said.splitlines() if line.startswith("ngo: ")]
    assert line.startswith("ngo: the package is not installed where Snakemake runs; use ")
    assert "Traceback" not in said
