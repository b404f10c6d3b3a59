"""The check of claims before they are registered."""

import shutil

import pytest
from conftest import REPOSITORY

from verdicts.cli import main

CLAIM = """\
claims:
  a: {place: x, says: y, kind: order, from: table1, quantity: level, with: {value: VALUE}, above: 0}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder like the repository's, with a claims file that a config names."""
    shutil.copytree(REPOSITORY / "config", tmp_path / "config")
    (tmp_path / "config/mine.yaml").write_text("tier: mine\nclaims: config/mine-claims.yaml\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config"


def test_claims_that_a_config_names_are_checked_before_they_are_registered(folder, capsys):
    claims, out = folder / "mine-claims.yaml", folder / "mine-claims.registered.yaml"
    claims.write_text(CLAIM.replace("VALUE", "acuracy"))
    for path in (claims, "config/mine-claims.yaml"):
        assert main(["register", str(path)]) == 2
        said = capsys.readouterr().err
        assert said.startswith("verdicts: claims.a.with.value: 'acuracy' is unknown; allowed: ")
        assert said.endswith("Did you mean 'accuracy'?\n")
    assert not out.exists()
    claims.write_text(CLAIM.replace("VALUE", "accuracy"))
    assert main(["register", str(claims)]) == 0
    assert out.exists()


def test_claims_that_no_config_names_are_left_to_the_judge(folder):
    other = folder / "other.yaml"
    other.write_text(CLAIM.replace("VALUE", "score"))
    assert main(["register", str(other)]) == 0
