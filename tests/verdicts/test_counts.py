"""How many claims have each verdict."""

from made_up_page import ROWS, row

from verdicts.row import MARKED, counts

APART = [
    row("copy", mark="trivial", mark_reason="a copy"),
    row("fit", mark="circular", mark_reason="fitted", verdict="fails"),
]
NONE = dict.fromkeys(("holds", "fails", "equivalent", "undecided", "not run"), 0)


def test_every_verdict_is_counted_and_cells_are_not():
    cell = row("order", cell="ring", verdict="fails")
    assert counts([*ROWS, cell]) == {**dict.fromkeys(NONE, 1), MARKED: 0}
    assert counts([]) == {**NONE, MARKED: 0}


def test_trivial_and_circular_claims_are_counted_apart():
    assert counts(APART) == {**NONE, MARKED: 2}
    assert counts([*ROWS, *APART])["holds"] == 1
