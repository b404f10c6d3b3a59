import pytest
from conftest import REPOSITORY

from ngo.common.registry import UserError
from ngo.pipeline.config import read_config, tiers
from ngo.pipeline.paths import CONFIG


def test_an_overlay_of_added_seeds_is_no_tier(tmp_path):
    for name in ("config.yaml", "laptop.yaml", "decide-laptop.yaml"):
        (tmp_path / name).touch()
    assert [[each.name for each in paths] for paths in tiers(tmp_path)] == [
        ["config.yaml"], ["config.yaml", "laptop.yaml"]
    ]  # fmt: skip


def test_outside_of_the_repository_the_default_config_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="it is in the repository of ngo. Go to a clone of it"):
        read_config([CONFIG])


def test_overlays_merge_mappings_and_replace_lists(tmp_path):
    (tmp_path / "a.yaml").write_text("x: {y: 1, z: [1, 2]}\nw: 3\n")
    (tmp_path / "b.yaml").write_text("x: {z: [9]}\n")
    config = read_config([tmp_path / "a.yaml", tmp_path / "b.yaml"])
    assert config == {"x": {"y": 1, "z": [9]}, "w": 3}


def test_what_is_laid_over_a_config_comes_after_it():
    base, overlay = (REPOSITORY / "config" / name for name in ("config.yaml", "demo.yaml"))
    assert read_config([base, overlay])["tier"] == "demo"
    with pytest.raises(UserError, match="config.yaml' is a base; name it before its overlays"):
        read_config([overlay, base])


def test_what_is_laid_over_a_merged_mapping_is_no_repetition(tmp_path):
    """Also where the mapping that merges is itself merged, above it in the file's tree."""
    (tmp_path / "c.yaml").write_text(
        "a: &a {x: 1, y: 1}\ndeep: {b: &b {<<: *a, x: 2}}\nc: {<<: *b, y: 3}\n"
    )
    config = read_config([tmp_path / "c.yaml"])
    assert config["deep"]["b"] == {"x": 2, "y": 1}
    assert config["c"] == {"x": 2, "y": 3}
