"""The layout of the code: short files, and a test file for each module."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import REPOSITORY

PACKAGES = {REPOSITORY / "src/ngo": "", REPOSITORY / "src/verdicts": "verdicts"}
"""Where the code is, and the folder in tests/ that has its tests."""

MOST_LINES = 900

# Folders of short registry entries, and the file that tests all of them.
ENTRIES = {
    "data/partitions": "test_partition.py",
    "models/architectures": "test_architectures.py",
    "models/tasks": "test_task.py",
    "gossip/attacks": "test_attack.py",
    "gossip/topologies": "test_topology.py",
    "gossip/local_rules": "test_local_rule.py",
    "gossip/lr_schedules": "test_lr_schedule.py",
    "gossip/schedules": "test_gossip_schedule.py",
    "render": "test_formats.py",
}

# Methods that one file tests together.
TOGETHER = {
    f"gossip/methods/{name}": "test_corrections.py"
    for name in ("d2", "gradient_tracking", "quasi_global", "push_sum")
}


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


def test_every_module_has_a_test_file_in_the_folder_of_its_name():
    untested = []
    for package, place in PACKAGES.items():
        for path in package.glob("**/*.py"):
            folder, name = path.parent.relative_to(package), path.stem
            if name.startswith("__") or not (place or folder.parts):
                continue
            first = REPOSITORY / "tests" / (place or folder.parts[0])
            tests = {each.name for each in first.rglob("test_*.py")}
            expected = ENTRIES.get(str(folder), TOGETHER.get(f"{folder}/{name}", f"test_{name}.py"))
            if expected not in tests and not any(name in each for each in tests):
                untested.append(f"{package.name}/{folder}/{name}.py")
    assert untested == []
