"""The tool that writes the board."""

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY
from made_up_board import BOARD, CELLS

FILES = ["docs/board/papers.csv", "docs/board/claims.csv",
         "docs/board/matrix.csv", "docs/board.md", "docs/board.html"]  # fmt: skip


@pytest.fixture
def tool(monkeypatch, tmp_path):
    """The tool, of a repository with the made-up board."""
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import board

    monkeypatch.setattr(board, "REPOSITORY", tmp_path)
    monkeypatch.setattr(board, "shipped_board", lambda root, tell: BOARD)
    return board


def test_all_files_are_written_and_are_the_same_each_time(tool, tmp_path):
    for _ in range(2):
        answer = CliRunner().invoke(tool.main)
        assert answer.exit_code == 0, answer.exception
        assert answer.output.splitlines() == [f"→ {name}" for name in FILES]
    assert (tmp_path / FILES[2]).read_text().count("\n") == 1 + len(CELLS)
    assert CliRunner().invoke(tool.main, ["--check"]).exit_code == 0


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_out_of_date_fails_the_check_and_stays(tool, tmp_path, name):
    CliRunner().invoke(tool.main)
    (tmp_path / name).write_text("changed")
    answer = CliRunner().invoke(tool.main, ["--check"])
    assert answer.exit_code == 1
    assert f"{name} is out of date; run make board." in answer.output
    assert (tmp_path / name).read_text() == "changed"
