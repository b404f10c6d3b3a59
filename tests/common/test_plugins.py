"""Plugins: when a file is imported, and under which name; versions of what is installed."""

import hashlib
import random
import sys

import numpy as np
import pytest

from ngo.common import plugins, versions
from verdicts.registry import UserError


@pytest.fixture
def no_plugins(monkeypatch):
    """No plugin is loaded, and entries that a test loads do not outlive it."""
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(sys, "modules", sys.modules.copy())


@pytest.mark.usefixtures("no_plugins")
def test_a_file_is_imported_once_under_a_name_that_shadows_no_library(tmp_path, capsys):
    path = tmp_path / "json.py"
    path.write_text("print('imported')\n")
    (first,) = plugins.load([path])
    assert plugins.load([str(path)]) == [first]
    assert capsys.readouterr().out == "imported\n"
    assert first.module == "ngo_plugin_json"
    assert plugins.loaded() == (first,)
    assert first.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.usefixtures("no_plugins")
def test_what_a_file_draws_as_it_is_imported_is_the_same_in_each_process(tmp_path):
    """Weights that NumPy drew there were others in each run; streams go on as if nothing was."""
    drawn = []
    for name in ("one", "other"):
        path = tmp_path / f"{name}.py"
        path.write_text("import random, numpy\nX = random.random(), numpy.random.rand()\n")
        before = random.getstate(), np.random.get_state()[1].tolist()
        (plugin,) = plugins.load([path])
        assert (random.getstate(), np.random.get_state()[1].tolist()) == before
        random.random()
        np.random.rand(1000)
        drawn.append(sys.modules[plugin.module].X)
    assert drawn[0] == drawn[1]


@pytest.mark.usefixtures("no_plugins")
def test_files_of_one_name_and_files_that_fail_are_not_loaded(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").touch()
    plugins.load([tmp_path / "a/mine.py"])
    with pytest.raises(UserError, match="key: .*b/mine.py' and .*a/mine.py' have one name"):
        plugins.load([tmp_path / "b/mine.py"], key="key")
    (tmp_path / "bad.py").write_text("x = 1\nraise ValueError('no\\nsuch luck')\n")
    with pytest.raises(UserError, match=r"bad.py' can't be imported: ValueError, line 2: no$"):
        plugins.load([tmp_path / "bad.py"])
    assert [each.module for each in plugins.loaded()] == ["ngo_plugin_mine"]
    assert "ngo_plugin_bad" not in sys.modules


def test_another_build_of_a_version_is_the_same_version():
    here = versions.installed()
    assert versions.others({"versions": {"torch": f"{here['torch']}+cpu", "python": "2.7"}}) == ""
    other = versions.others({"versions": {"torch": "1.0+cpu", "numpy": "1.1"}})
    assert other == "numpy 1.1, torch 1.0"
    assert versions.others({}) == ""
    assert versions.recorded({"versions": {"torch": "1.0+cpu", "ngo": "3"}}) == {"torch": "1.0"}
