"""The tiers in a folder, and what they train."""

import re
import shutil
from pathlib import Path

import pytest
from conftest import CONFIGS

from ngo.cli.list_commands import overview


@pytest.fixture
def folder(tmp_path):
    """A folder with the shipped configs."""
    for path in CONFIGS:
        shutil.copy(path, tmp_path)
    return tmp_path


def test_every_tier_is_found(folder):
    lines = list(overview(folder))
    assert [line.partition(":")[0] for line in lines] == ["paper", "cifar10", "demo", "laptop"]
    assert all(
        re.search(r": \d+ runs of \d+ experiments (and .* of universes )?on \d+ part", line)
        for line in lines
    )


def test_a_file_that_is_no_tier_is_told_in_its_line(folder):
    """One of a user's own that is none, one that is wrong, one over another tier."""
    (folder / "compose.yaml").write_text("services: {}\n")
    (folder / "fast.yaml").write_text("device: cpu\n")
    (folder / "half.yaml").write_text("tier: [")
    (folder / "mine.yaml").write_text("tier: mine\n")
    lines = list(overview(folder))
    assert not any("\n" in line for line in lines)
    others = {Path(line.split()[0]).name: line for line in lines if "not a tier on its own" in line}
    assert "config: 'services' is unknown" in others["compose.yaml"]
    assert f"tier: 'paper' is the name of {folder}/config.yaml" in others["fast.yaml"]
    assert "is not valid YAML" in others["half.yaml"]
    listed = [line.partition(":")[0] for line in lines if line not in others.values()]
    assert listed == ["paper", "cifar10", "demo", "laptop", "mine"]
