from command_line import mistake


def test_runs_are_restored_in_the_repository(tmp_path, monkeypatch):
    (tmp_path / "a.tar").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert mistake("restore", "a.tar") == (
        "restore: no Snakefile in this folder; run it in the repository's folder."
    )
    (tmp_path / "Snakefile").write_text("")
    assert "archive: 'a.tar' is refused: " in mistake("restore", "a.tar")
    assert "'b.tar'" in mistake("restore", "b.tar")
