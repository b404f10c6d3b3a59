import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import REPOSITORY

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
