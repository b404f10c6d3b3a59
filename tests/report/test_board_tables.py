"""The tables of the board: as CSV and back."""

from dataclasses import replace

from made_up_board import BOARD, CELLS, CLAIMS, PAPERS, cell, read_board


def written(folder, board):
    for name, content in board.files().items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def test_the_tables_are_read_as_they_were_written(tmp_path):
    found = read_board(written(tmp_path, BOARD))
    assert (found.papers, found.claims) == (PAPERS, CLAIMS)
    assert found.files() == BOARD.files()
    assert [each.shown for each in found.cells] == [each.shown for each in CELLS]


def test_a_text_is_on_one_line_and_commas_and_quotes_stay(tmp_path):
    said = 'a "b", c\n  d'
    board = replace(BOARD, claims=(replace(CLAIMS[0], statement=said),))
    (found,) = read_board(written(tmp_path, board)).claims
    assert found.statement == 'a "b", c d'


def test_a_cell_tells_its_estimate_and_its_conditions():
    assert [each.shown for each in CELLS[2:5:2]] == ["not measured", "80.0 [79.0, 81.0]"]
    assert cell("a", "b", -float("inf")).shown == "diverged"
    assert cell("a", "b", 1, low=float("nan")).shown == "1.0"
    assert CELLS[4].with_values == "D² (η = 0.1)"
    every = {"skew": "0.1", "bandwidth": "2.5e+06", "stragglers": "0.0625", "lateness": "3",
             "failing": "0.3", "liars": "1"}  # fmt: skip
    assert cell("a", "b", **every).conditions == (
        "16 workers, data skewed by Dirichlet's β = 0.1, 2.5 MB to send for each worker, 6.25 % of "
        "the workers slow, messages 3 steps late, 30 % of the links failing, 1 of the workers lying"
    )
    assert cell("a", "b").conditions == "16 workers"
