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
