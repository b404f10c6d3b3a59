"""The tool that registers the claims of all papers."""

import shutil

import pytest
from conftest import REPOSITORY

from verdicts.registration.registered import read_registration


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import register

    return register


def test_the_claims_of_every_paper_are_registered(tool):
    papers = sorted(REPOSITORY.glob("papers/*/claims.yaml"))
    assert tool.claims_files() == [REPOSITORY / "config/reference/claims.yaml", *papers]


def test_a_file_gets_a_registration_from_its_history_and_then_adds_to_it(
    tool, tmp_path, monkeypatch, capsys
):
    shutil.copytree(REPOSITORY / "papers/d2", tmp_path / "d2")
    path = tmp_path / "d2/claims.yaml"
    monkeypatch.setattr(tool, "REPOSITORY", tmp_path)
    monkeypatch.setattr(tool, "claims_files", lambda: [path])
    with pytest.raises(SystemExit, match="^register: git: .*repository"):
        tool.main()
    out = tmp_path / "d2/claims.registered.yaml"
    out.write_text("claims: {}\n")
    tool.main()
    assert capsys.readouterr().out == "d2/claims.registered.yaml: 5 claims; 5 new or changed\n"
    assert len(read_registration(out)) == 5
