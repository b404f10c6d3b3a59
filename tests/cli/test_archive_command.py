import os

from command_line import mistake


def test_rebuild_runs_in_the_repository(tmp_path, monkeypatch):
    (tmp_path / "a.tar").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert mistake("rebuild", "a.tar") == (
        "rebuild: no Snakefile in this folder; run it in the repository's folder."
    )


def test_an_archive_is_for_known_artefacts(tmp_path):
    line = mistake(
        "archive", "tabel1", "--config", "config/config.yaml", "--out", tmp_path / "a.tar"
    )
    assert "'tabel1' is unknown" in line
    assert "Did you mean 'table1'?" in line


def test_an_archive_never_replaces_a_file_that_it_packs(tmp_path):
    (tmp_path / "mine.yaml").write_text("tier: mine\n")
    (tmp_path / "claims.yaml").write_text("claims: []\n")
    (tmp_path / "mine.tar").symlink_to("mine.yaml")
    (tmp_path / "claims.tar").symlink_to("claims.yaml")
    os.link(tmp_path / "mine.yaml", tmp_path / "hard.tar")
    words = ["archive", "--config", "config/config.yaml", "--config", tmp_path / "mine.yaml"]
    for name, told in (
        ("mine.yaml", "is the file of config, "),
        ("mine.tar", "is the file of config, "),
        ("hard.tar", "is the file of config, "),
        ("claims.yaml", "must end in .tar."),
        ("claims.tar", "claims.yaml' must end in .tar."),
    ):
        for finished in ([], ["--finished"]):
            assert told in mistake(*words, *finished, "--out", tmp_path / name)
    assert (tmp_path / "mine.yaml").read_text() == "tier: mine\n"
    assert (tmp_path / "claims.yaml").read_text() == "claims: []\n"
