"""The config files of the workflow as a module."""

import pytest
import yaml
from conftest import REPOSITORY

from ngo.common.registry import UserError
from ngo.pipeline.config import read_config
from ngo.pipeline.start import module_files


def test_values_are_an_overlay_of_the_base(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = read_config([REPOSITORY / "config/config.yaml"])
    files = module_files({**base, "tier": "mine", "seeds": [3]})
    made = read_config(files)
    assert files[1] == "results/mine/config.yaml"
    assert (made["tier"], made["seeds"], made["settings"]) == ("mine", [3], base["settings"])
    assert (tmp_path / made["claims"]).resolve() == REPOSITORY / base["claims"]
    before = (tmp_path / files[1]).stat().st_mtime_ns
    assert module_files({"tier": "mine", "seeds": [3]}) == files
    assert (tmp_path / files[1]).stat().st_mtime_ns == before


def test_a_file_of_the_working_directory_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("claims: {}\n")
    _, overlay = module_files({"tier": "mine", "claims": "own.yaml"})
    assert yaml.safe_load((tmp_path / overlay).read_text())["claims"] == "own.yaml"


def test_a_tier_is_no_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="^tier: '../mine' is not allowed; "):
        module_files({"tier": "../mine"})
    assert not list(tmp_path.iterdir())
