"""The layout of the code: short files, each test file with a name of its own."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import REPOSITORY

MOST_LINES = 900


def python_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=REPOSITORY, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split() if (path := REPOSITORY / name).exists()]


def test_no_file_is_long():
    long = {str(path.relative_to(REPOSITORY)): len(path.read_text(encoding="utf-8").splitlines())
            for path in python_files()}  # fmt: skip
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}


def test_no_two_test_files_have_one_name():
    """Test folders are no packages: pytest imports a test file by its name alone."""
    names = Counter(path.name for path in python_files() if path.name.startswith("test_"))
    assert [name for name, files in names.items() if files > 1] == []
