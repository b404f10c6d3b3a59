"""``ngo advise``."""

import pytest
from command_line import mistake, ngo
from made_up_board import CELLS, BoardCell

from ngo.report import board_tables


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    """The package's table is a made-up one."""
    (tmp_path / "matrix.csv").write_text(board_tables.as_csv(BoardCell, CELLS), encoding="utf-8")
    read = board_tables.read
    monkeypatch.setattr(board_tables, "read", lambda kind: read(kind, tmp_path))


def test_it_answers_from_the_table():
    said = ngo("advise", "--workers", 32, "--skew", 0.1, "--bandwidth", "10Mbit",
               "--stragglers", 0.1)  # fmt: skip
    assert said.startswith("All of this together: not measured. Each alone:\n\nskew 0.1: the near")
    assert "best: D² (η = 0.1), accuracy in %: 80.0 [79.0, 81.0], 10 seeds\n" in said
    assert "not measured" in ngo("advise", "--liars", 2)
    assert "'iid': 16 workers" in ngo("advise", "--skew", "iid", "--late", 0, "--failing", 0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "advise: say what your setting is, as in --workers 32 --skew 0.1."),
        ("--bandwidth 10Mbi", "Did you mean '10Mbit'?"),
        ("--skew 0", "it must be a number, above 0, or iid."),
        ("--stragglers 2", "stragglers: 2.0 is out of range"),
    ],
)
def test_a_mistake_is_one_line(words, told):
    assert told in mistake("advise", *words.split())
