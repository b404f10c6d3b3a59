"""The tiers in a folder, and what they train."""

import re
import shutil
from pathlib import Path

from conftest import CONFIGS

from ngo.cli.list_commands import overview


def test_every_tier_is_found_and_a_file_that_is_none_is_told_in_its_line(tmp_path):
    """One of a user's own that is none, one that is wrong, one over another tier."""
    for path in (CONFIGS[0], CONFIGS[2]):
        shutil.copy(path, tmp_path)
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    (tmp_path / "fast.yaml").write_text("device: cpu\n")
    (tmp_path / "half.yaml").write_text("tier: [")
    (tmp_path / "mine.yaml").write_text("tier: mine\nonly: [tableS1]\n")
    lines = list(overview(tmp_path))
    assert not any("\n" in line for line in lines)
    others = {Path(line.split()[0]).name: line for line in lines if "not a tier on its own" in line}
    assert "config: 'services' is unknown" in others["compose.yaml"]
    assert f"tier: 'paper' is the name of {tmp_path}/config.yaml" in others["fast.yaml"]
    assert "is not valid YAML" in others["half.yaml"]
    found = [line for line in lines if line not in others.values()]
    assert [line.partition(":")[0] for line in found] == ["paper", "demo", "mine"]
    expected = r": \d+ runs of \d+ experiments (and .* of universes )?on \d+ part"
    assert all(re.search(expected, line) for line in found[:2])
