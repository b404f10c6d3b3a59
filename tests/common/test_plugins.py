import hashlib
import sys

import pytest

from ngo.common import plugins
from verdicts.registry import UserError


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch):
    """No plugin is loaded, and entries that a test loads do not outlive it."""
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(sys, "modules", sys.modules.copy())


def test_a_file_is_imported_once_under_a_name_that_shadows_no_library(tmp_path, capsys):
    path = tmp_path / "json.py"
    path.write_text("print('imported')\n")
    (first,) = plugins.load([path])
    assert plugins.load([str(path)]) == [first]
    assert capsys.readouterr().out == "imported\n"
    assert first.module == "ngo_plugin_json"
    assert plugins.loaded() == (first,)
    assert first.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_two_files_of_one_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").touch()
    plugins.load([tmp_path / "a/mine.py"])
    with pytest.raises(UserError, match="key: .*b/mine.py' and .*a/mine.py' have one name"):
        plugins.load([tmp_path / "b/mine.py"], key="key")


def test_a_file_that_fails_is_not_loaded(tmp_path):
    (tmp_path / "bad.py").write_text("x = 1\nraise ValueError('no\\nsuch luck')\n")
    with pytest.raises(UserError, match=r"bad.py' can't be imported: ValueError, line 2: no$"):
        plugins.load([tmp_path / "bad.py"])
    assert plugins.loaded() == ()
    assert "ngo_plugin_bad" not in sys.modules
